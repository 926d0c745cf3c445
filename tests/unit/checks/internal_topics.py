"""Define cases for the checks of topics that Kafka, Kafka Connect and Kafka Streams create."""

from __future__ import annotations

from dataclasses import replace

from tests.support.subjects import internal, subject, unreadable, with_brokers
from tests.unit.checks.cases import BOTH, DELETE, FAIL, UNDECIDABLE, Case, absent, extent, with_logs, without
from tests.unit.checks.replicas import two_partitions
from tests.unit.checks.topics import without_sources
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.collect.internal_topics import InternalRole, InternalTopic
from topicwarden.audit.compare_audits import topic_state
from topicwarden.audit.history.topic_state import PreviousAudit
from topicwarden.audit.judge import results_of
from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka.read.snapshot import PartitionReplicas

GROUPS, TRANSACTIONS, CHANGELOG, REPARTITION = (
    *("__consumer_offsets", "__transaction_state"),
    *("app-x-changelog", "app-x-repartition"),
)
STREAMS = ConsumerGroup("app", "Empty", 0, {("app-x-repartition", 0): 5}, streams=True)


def connects(
    role: InternalRole, partitions: int = 1, *, certain: bool = True, settings: dict[str, str] | None = None
) -> AuditedTopic:
    of = internal("connect-topic", (1, 2, 3), settings)
    assert of.live
    live = replace(of.live, topic=replace(of.live.topic, partitions=partitions))
    return replace(of, live=live, internal=InternalTopic(role, "its keys", certain))


def streams(name: str, settings: dict[str, str]) -> AuditedTopic:
    return internal(name, (1, 2, 3), settings, STREAMS)


def after(of: AuditedTopic, before: AuditedTopic) -> AuditedTopic:
    """Return ``of`` at the audit after the audit of ``before``."""
    judged = {"internal-policy": results_of(CHECKS["internal-policy"], before) or ()}
    return replace(of, past=PreviousAudit(topic_state(before, judged, (), {})))


CHANGED = after(streams(CHANGELOG, DELETE), streams(CHANGELOG, {}))
QUEUE = {**DELETE, "retention.ms": "-1", "retention.bytes": "-1"}


def copies(name: str, factor: int, requested: str, brokers: int = 3) -> AuditedTopic:
    """Return an internal topic with ``factor`` replicas, in a cluster with ``brokers`` configured for ``asked``."""
    settings = {"offsets.topic.replication.factor": requested, "default.replication.factor": requested}
    of = with_brokers(internal(name, tuple(range(1, factor + 1))), settings)
    return replace(of, snapshot=replace(of.snapshot, racks=dict.fromkeys(range(1, brokers + 1))))


def min_isr(least: str, replicas: tuple[int, ...] = (1, 2, 3), name: str = TRANSACTIONS) -> AuditedTopic:
    of = internal(name, replicas, {"min.insync.replicas": least})
    return with_brokers(of, {"transaction.state.log.min.isr": "2"})


def two_of_two() -> AuditedTopic:
    of = min_isr("2", (1, 2))
    return replace(of, snapshot=replace(of.snapshot, racks={1: None, 2: None}))


def sized(*sizes: int | None, segment: int | None = 100, name: str = GROUPS) -> AuditedTopic:
    of = internal(name, settings={} if segment is None else {"segment.bytes": str(segment)})
    return with_logs(of, *(extent(log_bytes=size) for size in sizes))


CASES = (
    Case(
        "internal-policy",
        "offsets of groups are deleted",
        internal(GROUPS, settings=DELETE),
        (FAIL,),
        evidence={"cleanup.policy": "delete", "needs": "compact"},
        says="which Kafka reserves for itself set cleanup.policy=compact now",
    ),
    Case(
        "internal-policy",
        "offsets of groups are deleted, too",
        internal(GROUPS, settings=BOTH),
        (FAIL,),
        evidence={"cleanup.policy": "compact,delete"},
    ),
    Case(
        "internal-policy",
        "neither deleted nor compacted",
        internal(GROUPS, settings={"cleanup.policy": ""}),
        (FAIL,),
        evidence={"cleanup.policy": "empty"},
    ),
    Case("internal-policy", "compacted", internal(GROUPS), ()),
    Case("internal-policy", "compacted, with an unused retention", connects(InternalRole.CONNECT_OFFSETS), ()),
    Case(
        "internal-policy",
        "settings that this user may not see",
        without_sources(internal(GROUPS, settings=DELETE)),
        (UNDECIDABLE,),
    ),
    Case(
        "internal-policy",
        "a changelog at the first audit",
        streams(CHANGELOG, DELETE),
        (UNDECIDABLE,),
        evidence={"needs": "compact or compact,delete"},
        says="set cleanup.policy=compact now",
    ),
    Case("internal-policy", "a changelog that was compacted", CHANGED, (FAIL,)),
    Case(
        "internal-policy",
        "a changelog that was compacted, one audit later",
        after(streams(CHANGELOG, DELETE), CHANGED),
        (FAIL,),
    ),
    Case(
        "internal-policy",
        "a changelog that was windowed",
        after(streams(CHANGELOG, DELETE), streams(CHANGELOG, BOTH)),
        (UNDECIDABLE,),
    ),
    Case(
        "internal-policy",
        "a changelog by its name alone that was compacted",
        after(internal(CHANGELOG, settings=DELETE), internal(CHANGELOG)),
        (UNDECIDABLE,),
    ),
    Case(
        "internal-policy",
        "a changelog that no audit saw compacted",
        after(streams(CHANGELOG, DELETE), streams(CHANGELOG, DELETE)),
        (UNDECIDABLE,),
    ),
    Case(
        "internal-policy",
        "a changelog that no audit saw compacted, one audit later",
        after(streams(CHANGELOG, DELETE), after(streams(CHANGELOG, DELETE), streams(CHANGELOG, DELETE))),
        (UNDECIDABLE,),
    ),
    Case(
        "internal-policy", "a retention that is not known", without(streams(REPARTITION, QUEUE), "retention.bytes"), ()
    ),
    Case("internal-policy", "a windowed changelog", streams(CHANGELOG, BOTH), ()),
    Case("internal-policy", "a changelog", streams(CHANGELOG, {}), ()),
    Case(
        "internal-policy",
        "a repartition topic that expires",
        streams(REPARTITION, {**QUEUE, "retention.ms": "0"}),
        (FAIL,),
        evidence={"retention.ms": 0},
    ),
    Case(
        "internal-policy",
        "a repartition topic that is bounded",
        streams(REPARTITION, {**QUEUE, "retention.bytes": "0"}),
        (FAIL,),
        evidence={"retention.bytes": 0},
    ),
    Case(
        "internal-policy",
        "a repartition topic that may be one by its name",
        internal(REPARTITION, settings={**QUEUE, "retention.ms": "0"}),
        (UNDECIDABLE,),
    ),
    Case("internal-policy", "a repartition topic", streams(REPARTITION, QUEUE), ()),
    Case(
        "internal-policy",
        "configurations in two partitions",
        connects(InternalRole.CONNECT_CONFIGS, 2),
        (FAIL,),
        evidence={"partitions": 2},
    ),
    Case(
        "internal-policy",
        "two partitions, by the name alone",
        connects(InternalRole.CONNECT_CONFIGS, 2, certain=False),
        (UNDECIDABLE,),
        says="if the topic has the role that its name suggests, stop",
    ),
    Case(
        "internal-policy",
        "two partitions, and settings that this user may not see",
        without_sources(connects(InternalRole.CONNECT_CONFIGS, 2)),
        (FAIL, UNDECIDABLE),
    ),
    Case("internal-policy", "configurations in one partition", connects(InternalRole.CONNECT_CONFIGS), ()),
    Case("internal-policy", "offsets in two partitions", connects(InternalRole.CONNECT_OFFSETS, 2), ()),
    Case("internal-policy", "a topic of users", subject(), None),
    Case("internal-policy", "not on the cluster", absent(internal(GROUPS)), None),
    Case(
        "internal-replication",
        "one below what brokers ask for",
        copies(GROUPS, 2, "3"),
        (FAIL,),
        partitions=(0,),
        evidence={"least": 2, "wanted": 3, "brokers": 3},
        says="the brokers' offsets.topic.replication.factor is 3, and the cluster has 3 brokers",
    ),
    Case(
        "internal-replication",
        "one, and a setting that this user may not see",
        with_brokers(internal(GROUPS, (1,))),
        (UNDECIDABLE, UNDECIDABLE),
        evidence={"least": 1, "wanted": 3},
        says="the brokers' offsets.topic.replication.factor is not known, and the cluster has 3 brokers",
    ),
    Case(
        "internal-replication",
        "a setting that this user may not see",
        with_brokers(internal(GROUPS)),
        (UNDECIDABLE,),
        says="grant DescribeConfigs on the Cluster resource",
    ),
    Case(
        "internal-replication",
        "two of three, and one of three",
        two_partitions(
            PartitionReplicas(0, 1, (1, 2), (1, 2)),
            PartitionReplicas(1, 1, (1,), (1,)),
            PartitionReplicas(2, 1, (1, 2, 3), ()),
            of=copies(GROUPS, 3, "3"),
        ),
        (FAIL,),
        evidence={"least": 1},
        partitions=(0, 1),
    ),
    Case("internal-replication", "a setting that brokers do not tell", internal(TRANSACTIONS), ()),
    Case(
        "internal-replication",
        "writes that one of two brokers stops",
        two_of_two(),
        (UNDECIDABLE,),
        says="set min.insync.replicas=1",
    ),
    Case(
        "internal-replication",
        "writes that one broker of four has",
        min_isr("1", (1, 2, 3, 4)),
        (UNDECIDABLE,),
        says="set min.insync.replicas=2",
    ),
    Case("internal-replication", "as brokers ask for", copies(GROUPS, 3, "3"), ()),
    Case(
        "internal-replication",
        "one, as brokers ask for",
        copies(GROUPS, 1, "1"),
        (UNDECIDABLE,),
        evidence={"least": 1, "wanted": 3},
    ),
    Case("internal-replication", "two, as brokers ask for", copies(GROUPS, 2, "2"), (UNDECIDABLE,)),
    Case("internal-replication", "one, of unknown brokers", internal(GROUPS, (1,)), (UNDECIDABLE,)),
    Case("internal-replication", "fewer brokers than asked for", copies(GROUPS, 3, "5"), ()),
    Case("internal-replication", "two, as there are brokers", copies(GROUPS, 2, "5", brokers=2), ()),
    Case("internal-replication", "three of four", copies(GROUPS, 3, "4", brokers=4), (FAIL,), evidence={"wanted": 4}),
    Case("internal-replication", "three of four, enough", copies(GROUPS, 3, "3", brokers=4), ()),
    Case("internal-replication", "of an application", copies(CHANGELOG, 2, "3"), (UNDECIDABLE,)),
    Case(
        "internal-replication",
        "writes that one broker has",
        min_isr("1"),
        (UNDECIDABLE,),
        evidence={"min.insync.replicas": 1, "replication_factor": 3},
        says="it contains the state of transactions; recognised by its name, which Kafka reserves for itself set min",
    ),
    Case("internal-replication", "writes that two brokers have", min_isr("2"), ()),
    Case(
        "internal-replication",
        "writes that one broker stops",
        min_isr("3"),
        (UNDECIDABLE,),
        says="set min.insync.replicas=2",
    ),
    Case(
        "internal-replication",
        "writes that one broker of four stops",
        min_isr("4", (1, 2, 3, 4)),
        (UNDECIDABLE,),
        says="set min.insync.replicas=3",
    ),
    Case("internal-replication", "writes that one broker has, without a setting for it", min_isr("1", name=GROUPS), ()),
    Case("internal-replication", "min.insync.replicas is not known", without(min_isr("1"), "min.insync.replicas"), ()),
    Case(
        "internal-replication",
        "one replica is no choice",
        replace(min_isr("1", (1,)), snapshot=replace(min_isr("1", (1,)).snapshot, racks={1: None})),
        (),
    ),
    Case("internal-replication", "a topic of users", subject(), None),
    Case("internal-replication", "not on the cluster", absent(internal(GROUPS)), None),
    Case(
        "internal-size",
        "more than ten times the others",
        sized(500, 500, 5_001),
        (UNDECIDABLE,),
        partitions=(2,),
        evidence={"log_bytes": 5_001, "median_of_others": 500, "segment.bytes": 100},
        says="a cleaning leaves one record per key",
    ),
    Case("internal-size", "more than ten times the other one", sized(400, 4_001), (UNDECIDABLE,), partitions=(1,)),
    Case("internal-size", "ten times the others", sized(500, 500, 5_000), ()),
    Case("internal-size", "more than ten segments", sized(1, 1, 1_001), (UNDECIDABLE,), partitions=(2,)),
    Case("internal-size", "ten segments", sized(1, 1, 1_000), ()),
    Case("internal-size", "ten segments of an unknown size", sized(1, 1, 10 * (100 << 20), segment=None), ()),
    Case(
        "internal-size",
        "more than ten segments of an unknown size",
        sized(1, 1, 10 * (100 << 20) + 1, segment=None),
        (UNDECIDABLE,),
    ),
    Case("internal-size", "the only partition", sized(10_000_000), ()),
    Case("internal-size", "one size is not told", sized(500, None), (UNDECIDABLE,), partitions=(1,)),
    Case(
        "internal-size",
        "records that this user may not read",
        unreadable(sized(500, 500)),
        (UNDECIDABLE,),
    ),
    Case("internal-size", "of an application", sized(1, 1, 5_001, name=CHANGELOG), None),
    Case("internal-size", "not compacted", internal(GROUPS, settings=DELETE), None),
    Case("internal-size", "not on the cluster", absent(internal(GROUPS)), None),
)
