"""Define cases for the checks that compare the cluster with the declaration, or with an earlier audit."""

from __future__ import annotations

from dataclasses import replace

from tests.support.repeated_audits import Log
from tests.support.subjects import internal, subject, unreadable, with_brokers
from tests.unit.checks.cases import FAIL, PASS, UNDECIDABLE, Case, absent, seen_again
from tests.unit.checks.replicas import unlisted
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.history.topic_state import PreviousAudit
from topicwarden.kafka.read.snapshot import PartitionReplicas
from topicwarden.model.topic import Allowance, AllowedChange

ON_TOPIC = "DYNAMIC_TOPIC_CONFIG"
DELETE = {"cleanup.policy": "delete"}


def undeclared(of: AuditedTopic) -> AuditedTopic:
    return replace(of, declared=None)


def declared(partitions: int = 1, replication_factor: int = 3, *allowed: AllowedChange) -> AuditedTopic:
    of = subject()
    assert of.declared
    allow = frozenset(Allowance(change) for change in allowed)
    topic = replace(of.declared, partitions=partitions, replication_factor=replication_factor, allow=allow)
    return replace(of, declared=topic)


def recreated(of: AuditedTopic) -> AuditedTopic:
    return replace(of, past=PreviousAudit(recreated_from="old"))


def without_sources(of: AuditedTopic) -> AuditedTopic:
    assert of.live
    return replace(of, live=replace(of.live, sources={}))


def on_brokers(*replicas: tuple[int, ...], expected: int = 3, adding: tuple[int, ...] = ()) -> AuditedTopic:
    """Return a topic declared with ``expected`` replicas; ``replicas`` are the actual replicas of each partition."""
    of = declared(len(replicas), expected)
    assert of.live
    states = tuple(
        PartitionReplicas(number, 1, brokers, brokers, adding=tuple(broker for broker in adding if broker in brokers))
        for number, brokers in enumerate(replicas)
    )
    return replace(of, live=replace(of.live, replicas=states))


def behind_on_brokers(*replicas: tuple[int, ...]) -> AuditedTopic:
    """Return the topic ``on_brokers``; the last replica of each partition is not in sync."""
    of = on_brokers(*replicas)
    assert of.live
    states = tuple(replace(state, in_sync=state.replicas[:-1]) for state in of.live.replicas)
    return replace(of, live=replace(of.live, replicas=states))


def unseen(of: AuditedTopic) -> AuditedTopic:
    """Return the same topic; the last audit saw none of its partitions."""
    assert of.past.state
    return replace(of, past=replace(of.past, state=replace(of.past.state, partitions=())))


HOUR = ({"log.retention.hours": "1"}, {"log.retention.hours": "1"}, {"log.retention.ms": "3600000"})
HOUR_AND_MORE = (*HOUR[:2], {"log.retention.ms": "3600001"})

CASES = (
    Case("topic-missing", "not on the cluster", absent(subject()), (FAIL,)),
    Case("topic-missing", "another topic is hidden", absent(subject(), "u"), (FAIL,)),
    Case("topic-missing", "hidden", absent(subject(), "t"), (UNDECIDABLE,)),
    Case("topic-missing", "on the cluster", subject(), ()),
    Case("topic-missing", "not declared", undeclared(subject()), None),
    Case("topic-undeclared", "not declared", undeclared(subject()), (FAIL,)),
    Case(
        "topic-undeclared",
        "not declared, and records that this user may not read",
        unreadable(undeclared(subject())),
        (FAIL,),
    ),
    Case(
        "topic-undeclared",
        "maybe of Kafka Connect, and records that this user may not read",
        unreadable(replace(internal("connect-offsets"), internal=None)),
        (UNDECIDABLE,),
        says="its name fits Kafka Connect",
    ),
    Case(
        "topic-undeclared",
        "named as one of Kafka Connect",
        replace(internal("connect-offsets"), internal=None),
        (FAIL,),
    ),
    Case("topic-undeclared", "declared", subject(), ()),
    Case("topic-undeclared", "of Kafka Streams by its name", internal("app-x-changelog"), (UNDECIDABLE,)),
    Case("topic-undeclared", "of Kafka itself", internal("__consumer_offsets"), None),
    Case("topic-undeclared", "nowhere", undeclared(absent(subject())), None),
    Case("topic-recreated", "another id", recreated(declared()), (FAIL,), evidence={"id": "id", "id_before": "old"}),
    Case("topic-recreated", "another id, not declared", recreated(undeclared(subject())), (FAIL,)),
    Case("topic-recreated", "another change is allowed", recreated(declared(1, 3, AllowedChange.DELETE)), (FAIL,)),
    Case(
        "topic-recreated", "allowed", recreated(declared(1, 3, AllowedChange.DELETE, AllowedChange.RECREATE)), (PASS,)
    ),
    Case("topic-recreated", "the same id", seen_again(Log({}, DELETE)), ()),
    Case("topic-recreated", "never seen before", subject(), None),
    Case("topic-recreated", "gone", recreated(absent(subject())), None),
    Case(
        "log-truncated",
        "one offset less",
        seen_again(Log({}, DELETE), end=99),
        (FAIL,),
        evidence={"end": 99, "end_before": 100},
        partitions=(0,),
    ),
    Case("log-truncated", "a partition that was added", unseen(seen_again(Log({}, DELETE), end=99)), ()),
    Case("log-truncated", "more than one offset less", seen_again(Log({}, DELETE), end=90), (FAIL,), says="10 offsets"),
    Case("log-truncated", "the same end", seen_again(Log({}, DELETE)), ()),
    Case("log-truncated", "longer", seen_again(Log({}, DELETE), end=101), ()),
    Case("log-truncated", "emptied by retention", seen_again(Log({}, DELETE), start=100), ()),
    Case("log-truncated", "never seen before", subject(), None),
    Case(
        "config-drift",
        "another value",
        subject(declared={"retention.ms": "60001"}),
        (FAIL,),
        evidence={"setting": "retention.ms", "declared": "60001", "live": "60000", "source": "DEFAULT_CONFIG"},
        says="retention.ms is 60000 (Kafka's default), declared 60001",
    ),
    Case("config-drift", "the same value", subject(declared={"retention.ms": "60000"}), ()),
    Case(
        "config-drift",
        "the same number, spelled otherwise",
        subject(live={"min.cleanable.dirty.ratio": "0.50"}, declared={"min.cleanable.dirty.ratio": "0.5"}),
        (),
    ),
    Case(
        "config-drift",
        "a setting that this broker does not have",
        subject(declared={"retention.bytes": "1"}),
        (FAIL,),
        evidence={"live": None, "source": None},
        says="retention.bytes is unknown (unknown to this broker), declared 1",
    ),
    Case(
        "config-drift",
        "a deploy does not repair a setting that this broker does not have",
        subject(declared={"retention.bytes": "1"}),
        (FAIL,),
        says="remove it, or upgrade the brokers",
    ),
    Case("config-drift", "an unknown setting", subject(live={"vendor.x": "1"}, declared={"vendor.x": "1"}), ()),
    Case(
        "config-drift",
        "an unknown setting with another value",
        subject(live={"vendor.x": "1"}, declared={"vendor.x": "2"}),
        (FAIL,),
    ),
    Case(
        "config-drift",
        "set by hand",
        subject(sources={"segment.ms": ON_TOPIC}),
        (FAIL,),
        evidence={"setting": "segment.ms", "declared": None, "live": "1000", "source": ON_TOPIC},
    ),
    Case("config-drift", "set on all brokers", subject(sources={"segment.ms": "DYNAMIC_DEFAULT_BROKER_CONFIG"}), ()),
    Case(
        "config-drift",
        "set as declared",
        subject(declared={"segment.ms": "1000"}, sources={"segment.ms": ON_TOPIC}),
        (),
    ),
    Case(
        "config-drift",
        "settings that this user may not see",
        without_sources(subject(declared={"retention.ms": "1"})),
        (UNDECIDABLE,),
    ),
    Case("config-drift", "not declared", undeclared(subject(sources={"segment.ms": ON_TOPIC})), None),
    Case("config-drift", "not on the cluster", absent(subject()), None),
    Case(
        "broker-defaults",
        "one millisecond apart",
        with_brokers(subject(), *HOUR_AND_MORE),
        (FAIL,),
        evidence={"brokers with 3600000": 2, "brokers with 3600001": 1},
    ),
    Case("broker-defaults", "the same, in other units", with_brokers(subject(), *HOUR), ()),
    Case("broker-defaults", "declared", with_brokers(subject(declared={"retention.ms": "1"}), *HOUR_AND_MORE), ()),
    Case(
        "broker-defaults",
        "a setting that harms nobody",
        with_brokers(subject(), {"compression.gzip.level": "1"}, {"compression.gzip.level": "9"}),
        (),
    ),
    Case("broker-defaults", "no settings of brokers may be seen", with_brokers(subject()), (UNDECIDABLE,)),
    Case("broker-defaults", "not declared", undeclared(with_brokers(subject(), *HOUR_AND_MORE)), None),
    Case("broker-defaults", "not on the cluster", absent(with_brokers(subject(), *HOUR_AND_MORE)), None),
    Case(
        "partition-count",
        "one too few",
        declared(2),
        (FAIL,),
        evidence={"declared": 2, "live": 1},
        says="adds the missing",
    ),
    Case(
        "partition-count",
        "one too many",
        declared(0),
        (FAIL,),
        evidence={"declared": 0, "live": 1},
        says="cannot be removed",
    ),
    Case("partition-count", "as declared", declared(1), ()),
    Case("partition-count", "not declared", undeclared(subject()), None),
    Case("partition-count", "not on the cluster", absent(declared(2)), None),
    Case(
        "replication-factor",
        "one too few",
        on_brokers((1, 2, 3), (1, 2)),
        (FAIL,),
        partitions=(1,),
        evidence={"declared": 3, "least": 2, "most": 2},
    ),
    Case(
        "replication-factor",
        "too few and too many",
        on_brokers((1, 2, 3, 4), (1,)),
        (FAIL,),
        partitions=(0, 1),
        evidence={"least": 1, "most": 4},
    ),
    Case("replication-factor", "as declared", on_brokers((1, 2, 3), (3, 1, 2)), ()),
    Case("replication-factor", "a reassignment moves a replica", on_brokers((1, 2, 3, 4), (3, 1, 2), adding=(4,)), ()),
    Case(
        "replication-factor",
        "one too many, which is not in sync, and the cluster does not list reassignments",
        unlisted(behind_on_brokers((1, 2, 3, 4), (1, 2, 3))),
        (UNDECIDABLE,),
        partitions=(0,),
        evidence={"declared": 3, "most": 4},
        says="the cluster did not list its reassignments (ClusterAuthorizationFailedError), and replicas that",
    ),
    Case(
        "replication-factor",
        "one too few and one too many, which is not in sync, and the cluster does not list reassignments",
        unlisted(behind_on_brokers((1, 2, 3, 4), (1, 2))),
        (FAIL, UNDECIDABLE),
        partitions=(0,),
    ),
    Case(
        "replication-factor",
        "one too many, all in sync, and the cluster does not list reassignments",
        unlisted(on_brokers((1, 2, 3, 4))),
        (FAIL,),
    ),
    Case("replication-factor", "not declared", undeclared(on_brokers((1,))), None),
    Case("replication-factor", "not on the cluster", absent(on_brokers((1,))), None),
)
