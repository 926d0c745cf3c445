"""Every partition has the declared number of replicas.

**fail**: a partition has more or fewer replicas. Each partition is checked, because a reassignment may have changed
only some. Replicas that a reassignment adds do not count until it ends.

Example: ``replication_factor: 3`` is declared; ``4 of 12 partitions have 2 replicas, declared 3``.

Confirm: ``kafka-topics --describe --topic T`` prints the replicas of each partition.

Remedy: `topicwarden rebalance` reassigns the partitions to the declared number of brokers.

Prevent: run `topicwarden rebalance` after each deploy that changes ``replication_factor``.

Source: KIP-455, ``ReplicationControlManager.alterPartitionReassignments``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import Declared, Live
from topicwarden.model.message_text import share
from topicwarden.model.verdict import Verdict


class Required(Declared, Live): ...


def applies(subject: Required) -> bool:
    return True


def judge(subject: Required) -> Iterable[CheckResult]:
    expected = subject.declared.replication_factor
    wrong = [state for state in subject.live.replicas if len(state.settled) != expected]
    if wrong:
        actual = sorted({len(state.settled) for state in wrong})
        yield CheckResult(
            Verdict.FAIL,
            f"{share(len(wrong), len(subject.live.replicas), 'partition', 'have')} "
            f"{' or '.join(map(str, actual))} replicas, declared {expected}",
            path=("replication_factor",),
            partitions=tuple(state.partition for state in wrong),
            remedy="run `topicwarden rebalance`: it reassigns the partitions to the declared number of brokers",
            evidence={"declared": expected, "least": actual[0], "most": actual[-1]},
        )
