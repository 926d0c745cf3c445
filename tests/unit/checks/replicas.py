"""Define cases for the checks of replicas."""

from __future__ import annotations

from dataclasses import replace

from tests.support.subjects import subject
from tests.unit.checks.cases import FAIL, UNDECIDABLE, Case, absent, without
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.kafka.read.snapshot import PartitionReplicas


def in_sync(*brokers: int, of: tuple[int, ...] = (1, 2, 3), leader: int | None = 1) -> AuditedTopic:
    return subject(replicas=PartitionReplicas(0, leader, of, brokers))


def two_partitions(*replicas: PartitionReplicas, of: AuditedTopic | None = None) -> AuditedTopic:
    topic = subject() if of is None else of
    assert topic.live
    return replace(topic, live=replace(topic.live, replicas=replicas))


def unlisted(of: AuditedTopic) -> AuditedTopic:
    """Return the same topic of a cluster that did not list its reassignments."""
    return replace(of, snapshot=replace(of.snapshot, reassignments_error="ClusterAuthorizationFailedError"))


CASES = (
    Case(
        "under-replicated",
        "one replica behind",
        in_sync(1, 2),
        (FAIL,),
        partitions=(0,),
        evidence={"partitions_behind": 1, "leaderless": 0, "brokers_missing": ""},
        says="up, but behind",
    ),
    Case(
        "under-replicated",
        "on a lost broker",
        in_sync(1, 2, of=(1, 2, 4)),
        (FAIL,),
        evidence={"brokers_missing": "4"},
        says="broker 4 is not part of the cluster now",
    ),
    Case(
        "under-replicated",
        "no leader",
        in_sync(1, 2, 3, leader=None),
        (FAIL,),
        evidence={"leaderless": 1},
        says="partition 0 has no leader",
    ),
    Case(
        "under-replicated",
        "with an eligible leader replica",
        subject(replicas=PartitionReplicas(0, None, (1, 2, 3), (), eligible=(2, 3))),
        (FAIL,),
        says="partition 0 has eligible leader replicas: 2, 3",
    ),
    Case("under-replicated", "all in sync", in_sync(1, 2, 3), ()),
    Case(
        "under-replicated",
        "a reassignment copies a replica",
        subject(replicas=PartitionReplicas(0, 1, (1, 2, 3, 4), (1, 2, 3), adding=(4,))),
        (),
    ),
    Case(
        "under-replicated",
        "a reassignment copies a replica, and another one is behind",
        subject(replicas=PartitionReplicas(0, 1, (1, 2, 3, 4), (1, 2), adding=(4,))),
        (FAIL,),
        says="broker 3 is up, but behind the leader bring back broker 3,",
    ),
    Case(
        "under-replicated",
        "one replica behind, and the cluster does not list reassignments",
        unlisted(in_sync(1, 2)),
        (UNDECIDABLE,),
        partitions=(0,),
        says="up, but behind the leader the cluster did not list its reassignments (ClusterAuthorizationFailedError)",
    ),
    Case(
        "under-replicated",
        "no leader, one replica behind, and the cluster does not list reassignments",
        unlisted(two_partitions(PartitionReplicas(0, None, (1, 2, 3), ()), PartitionReplicas(1, 1, (1, 2, 3), (1, 2)))),
        (FAIL, UNDECIDABLE),
        partitions=(1,),
    ),
    Case(
        "under-replicated", "all in sync, and the cluster does not list reassignments", unlisted(in_sync(1, 2, 3)), ()
    ),
    Case("under-replicated", "not on the cluster", absent(subject()), None),
    Case(
        "min-insync-replicas",
        "one below two",
        in_sync(1),
        (FAIL,),
        partitions=(0,),
        evidence={"min.insync.replicas": 2, "fewest_in_sync": 1},
    ),
    Case(
        "min-insync-replicas",
        "none in one of two partitions",
        two_partitions(PartitionReplicas(0, 1, (1, 2, 3), (1,)), PartitionReplicas(1, None, (1, 2, 3), ())),
        (FAIL,),
        evidence={"fewest_in_sync": 0},
        partitions=(0, 1),
        says="as few as 0",
    ),
    Case(
        "min-insync-replicas",
        "one below two in the second of two partitions",
        two_partitions(PartitionReplicas(0, 1, (1, 2, 3), (1, 2)), PartitionReplicas(1, 1, (1, 2, 3), (1,))),
        (FAIL,),
        partitions=(1,),
        says="refused now in 1 of 2 partitions: 1 min.insync",
    ),
    Case("min-insync-replicas", "just enough", in_sync(1, 2), ()),
    Case("min-insync-replicas", "fewer replicas than the setting", in_sync(1, of=(1,)), ()),
    Case("min-insync-replicas", "the only replica is lost", in_sync(of=(1,)), (FAIL,), evidence={"fewest_in_sync": 0}),
    Case("min-insync-replicas", "the setting is not known", without(in_sync(), "min.insync.replicas"), None),
    Case("min-insync-replicas", "not on the cluster", absent(subject()), None),
)
