"""The topic has as many partitions as were declared.

**fail**: it has more or fewer. More partitions than declared cannot be taken back without losing data:
declare what is there. A key's records may lie in two partitions since the count changed.
"""

from collections.abc import Iterable

from topicwarden.audit.subject import Judgement, Subject
from topicwarden.finding import Verdict


def applies(subject: Subject) -> bool:
    return subject.declared is not None and subject.live is not None


def judge(subject: Subject) -> Iterable[Judgement]:
    assert subject.declared and subject.live
    expected, seen = subject.declared.partitions, subject.live.topic.partitions
    if seen != expected:
        yield Judgement(
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
