"""The topic has the declared number of partitions.

**fail**: the topic has more or fewer partitions. Extra partitions cannot be removed without losing data. Since the
number changed, the records of one key may be in two partitions.

Example: ``partitions: 12`` is declared; ``has 24 partitions, declared 12``, because somebody ran
`kafka-topics --alter`.

Confirm: ``kafka-topics --describe --topic T`` prints ``PartitionCount``.

Remedy: if there are more partitions, declare the actual number. If there are fewer, `topicwarden up` adds them, and
keys move.

Prevent: grant Alter on topics to nobody but the user of deploys.

Source: KIP-195, ``ReplicationControlManager.createPartitions``; ``BuiltInPartitioner.partitionForKey``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import Declared, Live
from topicwarden.model.message_text import counted
from topicwarden.model.verdict import Verdict


class Required(Declared, Live): ...


def applies(subject: Required) -> bool:
    return True


def judge(subject: Required) -> Iterable[CheckResult]:
    expected, actual = subject.declared.partitions, subject.live.topic.partitions
    if actual != expected:
        yield CheckResult(
            Verdict.FAIL,
            f"has {counted(actual, 'partition')}, declared {expected}",
            path=("partitions",),
            remedy=(
                "declare the actual number: partitions cannot be removed without losing data"
                if actual > expected
                else "`topicwarden up` adds the missing partitions; keys will move to other partitions"
            ),
            evidence={"declared": expected, "live": actual},
        )
