"""The topic has as many partitions as were declared.

**fail**: it has more or fewer. More partitions than declared cannot be taken back without losing data. A key's records
may lie in two partitions since the count changed.

Example: ``partitions: 12`` is declared; ``has 24 partitions, declared 12``, as somebody ran `kafka-topics --alter`.

Remedy: where there are more, declare what is there; where there are fewer, `pulumi up` adds them, and keys move.

Source: KIP-195, ``ReplicationControlManager.createPartitions``; ``BuiltInPartitioner.partitionForKey``.
"""

from collections.abc import Iterable

from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits()


def applies(subject: AuditedTopic) -> bool:
    return subject.declared is not None and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.declared and subject.live
    expected, seen = subject.declared.partitions, subject.live.topic.partitions
    if seen != expected:
        yield CheckResult(
            Verdict.FAIL,
            f"has {seen} partitions, declared {expected}",
            path=("partitions",),
            remedy=(
                "declare what is there: partitions cannot be taken away without losing data"
                if seen > expected
                else "`pulumi up` adds the missing ones; keys will move to other partitions"
            ),
            evidence={"declared": expected, "live": seen},
        )
