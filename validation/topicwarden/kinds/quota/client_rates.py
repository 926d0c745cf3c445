"""The rates that clients of a quota likely have, from the growth of the topics that they use.

Kafka's Admin API does not report the rate of a client. The history of audits and usage reports has the log ends of
topics on several days, and so the mean rate at which they are written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.kinds.quota.change import QUOTAS, quotas_before_and_after
from topicwarden.kinds.quota.levels import QuotaEntity, changed_keys, enforced_change
from topicwarden.model.access import Acl, Operation, PermissionType, Resource, ResourceType
from topicwarden.model.usage import DAY_MS
from topicwarden.plan.access_change import AccessChange
from topicwarden.usage.cost import growth
from topicwarden.usage.use_records import UseRecords

if TYPE_CHECKING:
    from topicwarden.kafka.read.cluster import Cluster
    from topicwarden.plan.earlier_use import EarlierUse

_OPERATIONS: Final = {"producer_byte_rate": Operation.WRITE, "consumer_byte_rate": Operation.READ}


@dataclass(frozen=True)
class LikelyRate:
    """The mean bytes per second of a client on each broker, and the topics from whose growth it follows."""

    per_broker: float
    topics: tuple[str, ...]
    brokers: int


LikelyRates: TypeAlias = Mapping[tuple[QuotaEntity, str], LikelyRate]


def likely_rates(
    cluster: Cluster, change: AccessChange, earlier: EarlierUse | None, cluster_id: str | None
) -> LikelyRates:
    """Return the likely rates of users whose quota gets lower. Reads nothing unless there is one.

    A user writes the topics that no other principal may write, and reads each topic that it may read once.
    """
    before, after = change.once(quotas_before_and_after)
    lowered = [
        (entity, key, user)
        for entity, key in changed_keys(before, after, change.of(QUOTAS))
        if key in _OPERATIONS
        and (user := dict(entity).get("user")) is not None
        and enforced_change(before, after, entity, key)
    ]
    records = earlier.read(cluster_id)[0] if earlier is not None and lowered and change.live.acls is not None else None
    if records is None:
        return {}
    names = {name for name, _ in records.topics}
    used = {
        (entity, key): topics
        for entity, key, user in lowered
        if (topics := _topics(change.after, f"User:{user}", _OPERATIONS[key], names))
    }
    live = cluster.snapshot({name for topics in used.values() for name in topics}).topics if used else {}
    return {each: rate for each, topics in used.items() if (rate := _rate(records, live, topics)) is not None}


def _topics(acls: Iterable[Acl], principal: str, operation: Operation, names: Collection[str]) -> list[str]:
    allowing = [
        acl for acl in acls if acl.permission is PermissionType.ALLOW and acl.operation in (operation, Operation.ALL)
    ]
    found = []
    for name in sorted(names):
        users = {acl.principal for acl in allowing if acl.matches(Resource(ResourceType.TOPIC, name))}
        if principal in users and (operation is Operation.READ or users == {principal}):
            found.append(name)
    return found


def _rate(records: UseRecords, live: Mapping[str, LiveTopic], topics: Iterable[str]) -> LikelyRate | None:
    """Return the mean rate; None if no topic shows one. Brokers limit a client each for itself."""
    total, known, brokers = 0.0, [], set[int]()
    for name in topics:
        topic = live.get(name)
        record = records.topics.get((name, topic.id)) if topic else None
        found = growth(record.use().samples, topic) if topic and record else None
        if topic and found and found.written_bytes_per_day:
            total += found.written_bytes_per_day / (DAY_MS / 1000)
            known.append(name)
            brokers |= {broker for replica in topic.replicas for broker in replica.settled}
    return LikelyRate(total / len(brokers), tuple(known), len(brokers)) if known and brokers else None
