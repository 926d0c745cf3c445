"""No key has more than its declared share of the records.

**fail**: one key has more of the topic's records than ``contents: {key: {max_share: …}}`` in one partition alone, where
one consumer of a group reads them. Counted by the key's 64-bit hash, over committed records. **undecidable**: keys
lie in several partitions (``key-in-several-partitions`` names them), and those that have most in each partition would
be above the share together, if they were one. A share that is above the bound only for records of aborted and open
transactions is no ``fail``; one that is below it only for these is not found.

Example: ``one key has 31.0% of the records, declared at most 10.0%: 3,100 in partition 2, first at offset 12``.

Remedy: key by something finer, or add a salt to the key and merge downstream.

Source: ``BuiltInPartitioner.partitionForKey``: a key has one partition, and a partition one consumer of a group.
"""

from collections.abc import Iterable

from topicwarden.audit.faults import unless_at_most
from topicwarden.audit.placement import Kind
from topicwarden.audit.subject import Judgement, Subject
from topicwarden.verdict import Verdict


def applies(subject: Subject) -> bool:
    return subject.contents.key_max_share is not None and subject.live is not None


def judge(subject: Subject) -> Iterable[Judgement]:
    bound = subject.contents.key_max_share or 1.0
    total = sum(counts.records for counts in subject.committed.values())
    if not total:
        return
    partition, counts = max(subject.committed.items(), key=lambda item: item[1].hottest)
    share, most = counts.hottest / total, sum(each.hottest for each in subject.committed.values()) / total
    if share > bound:
        judgement = Judgement(
            Verdict.FAIL,
            f"one key has {'at least ' if _spread(subject) else ''}{share:.1%} of the records, declared at most "
            f"{bound:.1%}: {counts.hottest:,} in partition {partition}, first at offset {counts.hottest_offset}",
            path=("contents", "key", "max_share"),
            partitions=(partition,),
            remedy="key by something finer, or salt the key and merge downstream",
            evidence={"share": round(share, 4), "records": counts.hottest, "offset": counts.hottest_offset},
        )
        yield unless_at_most(subject.committed.values(), judgement)
    elif most > bound and _spread(subject):
        yield Judgement(
            Verdict.UNDECIDABLE,
            f"one key may have up to {most:.1%} of the records, declared at most {bound:.1%}: keys lie in several "
            "partitions, and what one has in all of them together is not counted",
            path=("contents", "key", "max_share"),
            remedy="give all producers one partitioner, so that each key is in one partition",
            evidence={"share": round(share, 4), "share at most": round(most, 4)},
        )


def _spread(subject: Subject) -> bool:
    """Return whether a key may lie in several partitions, as far as the keys' places tell."""
    placement = subject.placement
    if placement is None or placement.partitions == 1 or placement.kind is Kind.ONE:
        return False
    return placement.study is None or placement.study.several > 0
