"""No record is stamped further ahead of the clock than declared.

**fail**: the largest timestamp lies more than ``contents: {timestamps: {max_ahead: …}}`` ahead.
"""

from collections.abc import Iterable

from topicwarden.audit.horizon import CLOCK_MS
from topicwarden.audit.subject import Judgement, Subject
from topicwarden.finding import Verdict


def applies(subject: Subject) -> bool:
    return subject.contents.timestamp_max_ahead_ms is not None and subject.live is not None


def judge(subject: Subject) -> Iterable[Judgement]:
    bound, now = subject.contents.timestamp_max_ahead_ms or 0, subject.snapshot.taken_at
    ahead = {
        p: counts.last_timestamp - now for p, counts in subject.counts.items() if counts.last_timestamp is not None
    }
    wrong = sorted(partition for partition, lead in ahead.items() if lead > bound + CLOCK_MS)
    if wrong:
        most = max(ahead[partition] for partition in wrong)
        yield Judgement(
            Verdict.FAIL,
            f"a record is stamped {most:,} ms ahead of the clock, declared at most {bound:,}",
            path=("contents", "timestamps", "max_ahead"),
            partitions=tuple(wrong),
            remedy="find the producer whose clock, time zone or unit is wrong",
            evidence={"ahead_ms": most, "declared_ms": bound},
        )
