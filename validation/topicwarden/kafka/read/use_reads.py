"""Read who uses the topics of a cluster now: groups of all types, transactional ids, and producers.

The number of requests is bounded: those of ``consumer_groups``, two per broker for transactions, and one per leader for
the producers of 500 partitions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from topicwarden.kafka.connect.client_internals import describe_topics
from topicwarden.kafka.connect.request_errors import retry_transient
from topicwarden.kafka.read.consumer_groups import ConsumerGroup, read_all_groups
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.kafka.read.transaction_reads import read_all_transactions, read_producers
from topicwarden.kafka.read.transactions import TopicProducers, Transactions
from topicwarden.model.message_text import first_of

_SHOWN = 5
_OFFSETS: Final = "__consumer_offsets"
_TRANSACTIONS: Final = "__transaction_state"


@dataclass(frozen=True)
class ClusterUse:
    """Groups, transactional ids and producers of a cluster, as the brokers report them at one time.

    - ``groups``: all groups that this user sees, whatever they read; see ``ConsumerGroup``.
    - ``groups_missing``: why other groups may exist that this user does not see; empty if it sees all.
    - ``transactions``: all transactional ids that brokers remember.
    - ``transactions_missing``: why others may exist; empty if this user sees all.
    - ``producers``: the producers of each topic; ``TopicProducers.missing`` says why some are not known.
    """

    groups: tuple[ConsumerGroup, ...] = ()
    groups_missing: str = ""
    transactions: Transactions = field(default_factory=Transactions)
    transactions_missing: str = ""
    producers: Mapping[str, TopicProducers] = field(default_factory=dict)

    @property
    def unseen(self) -> tuple[str, ...]:
        """The parts of the use that this user may not see, each with the missing permission."""
        parts = [text for text in (self.groups_missing, self.transactions_missing) if text]
        reasons: dict[str, list[str]] = {}
        for name, producers in sorted(self.producers.items()):
            if producers.missing:
                reasons.setdefault(producers.missing, []).append(name)
        for reason, names in reasons.items():
            topics = "1 topic" if len(names) == 1 else f"{len(names):,} topics"
            parts.append(f"the producers of {topics}: {reason}: {first_of(names, _SHOWN)}")
        return tuple(parts)


def read_use(
    admin: KafkaAdminClient,
    snapshot: Snapshot,
    topics: Collection[str] | None = None,
    groups: tuple[ConsumerGroup, ...] | None = None,
) -> ClusterUse:
    """Return the use of ``topics`` of ``snapshot`` (default: all); groups and transactional ids are always all.

    ``groups`` are the groups, if they have been read. What cannot be read is missing in the result, with the reason;
    no broker, group or topic stops the rest.
    """
    failures: Mapping[int, KafkaError] = {}
    if groups is None:
        read = read_all_groups(admin)
        groups, failures = read.groups, read.failures
    probe = f"topicwarden-{uuid4().hex}"
    transactions = read_all_transactions(admin, list(snapshot.racks), probe)
    moved = _moved_coordinators(admin, snapshot)
    named = snapshot.topics if topics is None else {name: snapshot.topics[name] for name in topics}
    return ClusterUse(
        groups,
        _groups_missing(snapshot, groups, failures) or moved.get(_OFFSETS, ""),
        transactions,
        _transactions_missing(transactions, probe) or moved.get(_TRANSACTIONS, ""),
        read_producers(admin, named),
    )


def _moved_coordinators(admin: KafkaAdminClient, snapshot: Snapshot) -> dict[str, str]:
    """Return why groups, or transactional ids, may be missing: by the topic of their coordinators.

    A broker lists those of the partitions that it leads. Those of a partition without a leader, or of one that has just
    got another leader, are missing without an error (``GroupCoordinatorService.listGroups``,
    ``TransactionStateManager.listTransactionStates``).
    """
    topics = [name for name in (_OFFSETS, _TRANSACTIONS) if name in snapshot.topics]
    try:
        described = retry_transient(lambda: describe_topics(admin, topics))
    except KafkaError as error:
        return dict.fromkeys(topics, f"those of a coordinator that may have moved: {error}")
    moved = dict[str, str]()
    for topic in described:
        name = str(topic["name"])
        before = {state.partition: (state.leader, state.leader_epoch) for state in snapshot.topics[name].replicas}
        now = {
            state["partition_index"]: (state["leader_id"], state.get("leader_epoch")) for state in topic["partitions"]
        }
        for number, (leader, epoch) in sorted(before.items()):
            if leader is None:
                moved.setdefault(name, f"those of partition {number} of {name}, which has no leader")
            elif now.get(number) != (leader, epoch):
                moved.setdefault(name, f"those of partition {number} of {name}, which got another leader meanwhile")
    return moved


def _groups_missing(snapshot: Snapshot, groups: Collection[ConsumerGroup], failures: Mapping[int, KafkaError]) -> str:
    for broker, failure in sorted(failures.items()):
        return f"groups that broker {broker} coordinates: {failure}"
    unknown = (group.name for group in groups if group.hidden or (group.members is None and not group.worker))
    if hidden := sorted(unknown):
        return f"what some groups read (Describe on them): {first_of(hidden, _SHOWN)}"
    if not snapshot.cluster_described:
        return "groups that are not granted one by one (Describe on the Cluster resource)"
    return ""


def _transactions_missing(transactions: Transactions, probe: str) -> str:
    if transactions.missing:
        return f"transactional ids: {transactions.missing}"
    hidden = sorted(transactions.hidden - {probe})
    if hidden or probe in transactions.hidden:
        return "transactional ids that are not granted one by one (Describe on TransactionalId *)"
    return ""
