"""Every partition has the declared number of replicas.

**fail**: a partition has more or fewer replicas. Each partition is checked, because a reassignment may have changed
only some. Replicas that a reassignment adds do not count until it ends. **undecidable**: a partition has more replicas,
not all are in sync, and the cluster did not list its reassignments: this requires Describe on the Cluster resource.

Example: ``replication_factor: 3`` is declared; ``4 of 12 partitions have 2 replicas, declared 3``.

Confirm: ``kafka-topics --describe --topic T`` prints the replicas of each partition.

Remedy: `topicwarden rebalance` reassigns the partitions to the declared number of brokers.

Prevent: run `topicwarden rebalance` after each deploy that changes ``replication_factor``.

Source: KIP-455, ``ReplicationControlManager.alterPartitionReassignments``.
"""

from collections.abc import Iterable, Sequence

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import REASSIGNMENTS_REMEDY, Declared, Live, unknown_reassignments
from topicwarden.kafka.read.snapshot import PartitionReplicas
from topicwarden.model.message_text import share
from topicwarden.model.verdict import Verdict


class Required(Declared, Live): ...


def applies(subject: Required) -> bool:
    return True


def judge(subject: Required) -> Iterable[CheckResult]:
    expected, error = subject.declared.replication_factor, subject.snapshot.reassignments_error
    wrong = [state for state in subject.live.replicas if len(state.settled) != expected]
    moving = [state for state in wrong if error and len(state.in_sync) < len(state.replicas) > expected]
    if proven := [state for state in wrong if state not in moving]:
        remedy = "run `topicwarden rebalance`: it reassigns the partitions to the declared number of brokers"
        yield _result(Verdict.FAIL, subject, proven, remedy)
    if moving:
        yield _result(Verdict.UNDECIDABLE, subject, moving, REASSIGNMENTS_REMEDY, unknown_reassignments(error))


def _result(
    verdict: Verdict, subject: Required, wrong: Sequence[PartitionReplicas], remedy: str, *because: str
) -> CheckResult:
    expected, actual = subject.declared.replication_factor, sorted({len(state.settled) for state in wrong})
    return CheckResult(
        verdict,
        f"{share(len(wrong), len(subject.live.replicas), 'partition', 'have')} "
        f"{' or '.join(map(str, actual))} replicas, declared {expected}",
        path=("replication_factor",),
        partitions=tuple(state.partition for state in wrong),
        because=because,
        remedy=remedy,
        evidence={"declared": expected, "least": actual[0], "most": actual[-1]},
    )
