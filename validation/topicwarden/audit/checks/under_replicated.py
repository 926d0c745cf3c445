"""Every replica is in sync.

**fail**: at the time of the snapshot, a partition had fewer in-sync replicas than replicas, or no leader. The brokers
report this themselves, so one audit is proof. A restarting broker causes this for a short time. Replicas that a
reassignment adds do not count until it ends. If the cluster keeps eligible leader replicas (KIP-966), the reasons name
those that may lead without the loss of acknowledged records. **undecidable**: a partition with a leader has fewer
in-sync replicas than replicas, and the cluster did not list its reassignments: this requires Describe on the Cluster
resource.

Example: ``6 of 12 partitions are under-replicated: 1, 3, 5, 7, 9, 11``, because ``broker 3 is not part of the cluster
now``.

Confirm: ``kafka-topics --describe --under-replicated-partitions`` lists them now.

Remedy: bring the broker back, or reassign its partitions.

Prevent: raise an alarm if ``UnderReplicatedPartitions`` of a broker stays above 0 for longer than a restart.

Source: ``Partition.isUnderReplicated``; ``UnderReplicatedPartitions`` and ``OfflinePartitionsCount`` of the brokers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import REASSIGNMENTS_REMEDY, Live, unknown_reassignments
from topicwarden.kafka.read.snapshot import PartitionReplicas
from topicwarden.model.message_text import share
from topicwarden.model.verdict import Verdict


class Required(Live): ...


_LISTED = 5
"""Partitions whose eligible leader replicas a message lists."""


def applies(subject: Required) -> bool:
    return True


def judge(subject: Required) -> Iterable[CheckResult]:
    behind = [
        state for state in subject.live.replicas if state.leader is None or len(state.in_sync) < len(state.settled)
    ]
    error = subject.snapshot.reassignments_error
    moving = [state for state in behind if error and state.leader is not None]
    if proven := [state for state in behind if state not in moving]:
        yield _result(Verdict.FAIL, subject, proven)
    if moving:
        result = _result(Verdict.UNDECIDABLE, subject, moving)
        because = (*result.because, unknown_reassignments(error))
        yield replace(result, because=because, remedy=REASSIGNMENTS_REMEDY)


def _result(verdict: Verdict, subject: Required, behind: Sequence[PartitionReplicas]) -> CheckResult:
    leaderless = [state.partition for state in behind if state.leader is None]
    missing = sorted({broker for state in behind for broker in set(state.settled) - set(state.in_sync)})
    gone = [broker for broker in missing if broker not in subject.snapshot.racks]
    because = [
        f"broker {broker} is {'not part of the cluster now' if broker in gone else 'up, but behind the leader'}"
        for broker in missing
    ]
    because += [
        f"partition {state.partition} has eligible leader replicas: {_listed(state.eligible)}; they have every "
        "acknowledged record, and may lead"
        for state in behind[:_LISTED]
        if state.eligible
    ]
    if leaderless:
        because.append(f"partition {_listed(leaderless)} has no leader, and can be neither read nor written")
    return CheckResult(
        verdict,
        f"{share(len(behind), len(subject.live.replicas), 'partition', 'are')} under-replicated: "
        f"{_listed(state.partition for state in behind)}",
        path=("replication_factor",),
        partitions=tuple(state.partition for state in behind),
        because=tuple(because),
        remedy=f"bring back broker {_listed(missing)}, or reassign its partitions",
        evidence={"partitions_behind": len(behind), "leaderless": len(leaderless), "brokers_missing": _listed(gone)},
    )


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(number) for number in numbers)
