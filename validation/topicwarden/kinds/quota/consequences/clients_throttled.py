"""``clients-throttled``: brokers enforce a lower rate for clients than before the deploy.

A quota has levels (KIP-55): without its own, a client has that of the next level. So creating a quota may raise a
limit, and removing one may lower it. Kafka's Admin API does not report the rate of a client. The growth of its topics
in the history of audits makes one likely; a mean, which hides peaks. Without both, the consequence is a note that says
so, with the metric that has the rate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.kafka_facts.access.authorizer import Authorizer
from topicwarden.kinds.difference import AccessComparison
from topicwarden.kinds.quota.change import QUOTAS, quota_title, quotas_before_and_after
from topicwarden.kinds.quota.levels import EnforcedChange, QuotaEntity, lowered, quota_clients
from topicwarden.model.access import Operation, PermissionType, Resource, ResourceType
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.topic import AllowedChange
from topicwarden.model.units import setting_text, size_text
from topicwarden.model.usage import DAY_MS
from topicwarden.plan.access_change import AccessChange
from topicwarden.plan.access_context import AccessContext
from topicwarden.plan.change_guard import ChangeGuard
from topicwarden.plan.consequence_text import shorten
from topicwarden.usage.cost import growth
from topicwarden.usage.use_records import UseRecords

if TYPE_CHECKING:
    from topicwarden.kafka.read.cluster import Cluster
    from topicwarden.plan.earlier_use import EarlierUse

KIND = "clients-throttled"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "brokers enforce a lower quota for clients, also by the next level of a quota that is created or removed",
        (AllowedChange.THROTTLE_CLIENTS,),
        "refused if their rate is known and higher; a danger if the growth of their topics in the history makes that "
        "likely; else a note, because Kafka's Admin API does not report rates",
    ),
)
_METRICS = {
    "producer_byte_rate": "byte-rate of kafka.server:type=Produce",
    "consumer_byte_rate": "byte-rate of kafka.server:type=Fetch",
    "request_percentage": "request-time of kafka.server:type=Request",
    "controller_mutation_rate": "tokens of kafka.server:type=ControllerMutation",
    "connection_creation_rate": "connection-creation-rate of kafka.server:type=socket-server-metrics",
}

_OPERATIONS: Final = {"producer_byte_rate": Operation.WRITE, "consumer_byte_rate": Operation.READ}


def evaluate(context: AccessContext) -> Iterable[Consequence]:
    """Return each quota by whose change clients get a lower limit than brokers enforce now."""
    for entity, key, enforced in context.change.once(_lowered):
        yield _consequence(context, entity, key, enforced)


def _lowered(difference: AccessComparison) -> list[tuple[QuotaEntity, str, EnforcedChange]]:
    return list(lowered(*difference.once(quotas_before_and_after), difference.of(QUOTAS)))


def _consequence(context: AccessContext, entity: QuotaEntity, key: str, enforced: EnforcedChange) -> Consequence:
    before, after, limit = enforced.before.limit, enforced.after.limit, enforced.after.limit or 0.0
    rate = context.evidence.rates.get((entity, key))
    likely: LikelyRate | None = context.evidence.of_rules.get(KIND, {}).get((entity, key))
    location = context.change.declared.location(QUOTAS, entity)
    texts = (each.text(key, entity) for each in (enforced.before, enforced.after))
    change = f"{key} of {quota_clients(entity)} goes from {' to '.join(texts)}"
    known = rate if rate is not None else likely.per_broker if likely else None
    evidence: dict[str, int | float | str | None] = {
        "quota": quota_title(entity),
        "key": key,
        "before": before,
        "after": after,
        "rate": known,
    }
    if rate is not None and rate <= limit:
        return Consequence(
            kind=KIND,
            severity=Severity.NOTE,
            message=f"{change}; its clients have {setting_text(key, rate)} now",
            evidence=evidence,
            location=location,
        )
    if rate is not None:
        return Consequence(
            kind=KIND,
            severity=context.severity(AllowedChange.THROTTLE_CLIENTS, [entity]),
            message=f"{change}, and its clients have {setting_text(key, rate)} now: brokers delay them",
            remedy=context.remedy(AllowedChange.THROTTLE_CLIENTS, "set a higher quota", [entity]),
            evidence=evidence,
            location=location,
        )
    if likely is not None and likely.per_broker > limit:
        return Consequence(
            kind=KIND,
            severity=Severity.DANGER,
            message=f"{change}, and its clients likely have {size_text(likely.per_broker)} per second on each broker: "
            "brokers delay them",
            because=[
                f"{shorten(likely.topics)}, which they use, grew by that much on each of "
                f"{counted(likely.brokers, 'broker')}, as a mean of the last audits and usage reports"
            ],
            measured="log ends in the history, times the mean size of a record",
            evidence=evidence,
            location=location,
        )
    metric = _METRICS.get(key, "a metric of the brokers")
    present = (
        "their present rate cannot be known"
        if likely is None
        else f"they likely have {size_text(likely.per_broker)} per second on each broker"
    )
    return Consequence(
        kind=KIND,
        severity=Severity.NOTE,
        message=f"{change}: brokers delay clients above it; {present}",
        because=["Kafka's Admin API does not report the rate of a client"],
        measured=f"not measured; the brokers' metric is {metric}",
        evidence=evidence,
        location=location,
    )


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
    losing = [
        (entity, key, user)
        for entity, key, _ in change.once(_lowered)
        if key in _OPERATIONS and (user := dict(entity).get("user")) is not None
    ]
    records = earlier.read(cluster_id)[0] if earlier is not None and losing and change.live.acls is not None else None
    if records is None:
        return {}
    names = {name for name, _ in records.topics}
    principals = {f"User:{user}" for _, _, user in losing}
    operations = {_OPERATIONS[key] for _, key, _ in losing}
    by_use = {each: _topics_by_principal(change, principals, each, names) for each in operations}
    used = {
        (entity, key): topics
        for entity, key, user in losing
        if (topics := by_use[_OPERATIONS[key]].get(f"User:{user}"))
    }
    live = cluster.snapshot({name for topics in used.values() for name in topics}).topics if used else {}
    return {each: rate for each, topics in used.items() if (rate := _rate(records, live, topics)) is not None}


def _topics_by_principal(
    change: AccessChange, principals: Collection[str], operation: Operation, names: Collection[str]
) -> Mapping[str, list[str]]:
    """Return the topics that each of ``principals`` may read, or that no other principal may write, sorted."""
    reads = operation is Operation.READ
    allowing = (
        acl
        for acl in change.after
        if acl.permission is PermissionType.ALLOW
        and acl.operation in (operation, Operation.ALL)
        and (acl.principal in principals or not reads)
    )
    authorizer = Authorizer(allowing, change.settings[0])
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        patterns = authorizer.patterns(Resource(ResourceType.TOPIC, name))
        users = {acl.principal for pattern in patterns for acl in pattern}
        for user in users if reads or len(users) == 1 else ():
            found[user].append(name)
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


EVIDENCE = likely_rates
