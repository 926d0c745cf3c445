"""No record is larger than declared.

**fail**: key and value together are larger than ``contents: {records: {max_bytes: …}}``, uncompressed.
``max.message.bytes`` is another bound: of the compressed batch.
"""

from collections.abc import Iterable

from topicwarden.audit.subject import Judgement, Subject
from topicwarden.finding import Verdict


def applies(subject: Subject) -> bool:
    return subject.contents.record_max_bytes is not None and subject.live is not None


def judge(subject: Subject) -> Iterable[Judgement]:
    bound = subject.contents.record_max_bytes or 0
    over = {p: counts.largest_record for p, counts in subject.counts.items() if counts.largest_record > bound}
    if over:
        yield Judgement(
            Verdict.FAIL,
            f"a record of {max(over.values()):,} bytes, declared at most {bound:,}",
            path=("contents", "records", "max_bytes"),
            partitions=tuple(sorted(over)),
            remedy="find the producer, or declare the size that is meant",
            evidence={"largest_record": max(over.values()), "declared": bound},
        )
