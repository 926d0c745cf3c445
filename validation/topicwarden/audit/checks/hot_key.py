"""No key has more than its declared share of the records.

**fail**: one key has more of the topic's records than ``contents: {key: {max_share: …}}``, counted over the partitions
in which it is the key with most records; elsewhere it may have more. Counted by the key's 64-bit hash, over committed
records. **undecidable**: keys lie in several partitions (``key-in-several-partitions`` names them), and those that have
most in each partition would be above the share together, if they were one. A share that is above the bound only for
records of aborted and open transactions is no ``fail``; one that is below it only for these is not found.

Example: ``one key has 31.0% of the records, declared at most 10.0%: 3,100 in partition 2, first at offset 12``.

Remedy: key by something finer, or add a salt to the key and merge downstream.

Source: ``BuiltInPartitioner.partitionForKey``: a key has one partition, and a partition one consumer of a group.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.content_faults import unless_at_most
from topicwarden.audit.keys.key_placement import PlacementKind
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits(reads_records=True, judges_committed_records=True, compares_partitions=True, needs_every_record=True)


def applies(subject: AuditedTopic) -> bool:
    return subject.contents.key_max_share is not None and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    bound = subject.contents.key_max_share or 1.0
    total = sum(counts.records for counts in subject.committed.values())
    if not total:
        return
    held = _of_hottest_key(subject)
    share = sum(counts.hottest for counts in held.values()) / total
    most = sum(each.hottest for each in subject.committed.values()) / total
    if share > bound:
        first = next(iter(held.values()))
        judgement = CheckResult(
            Verdict.FAIL,
            f"one key has {'at least ' if _spread(subject) else ''}{share:.1%} of the records, declared at most "
            f"{bound:.1%}: {', '.join(f'{each.hottest:,} in partition {number}' for number, each in held.items())}, "
            f"first at offset {first.hottest_offset}",
            path=("contents", "key", "max_share"),
            partitions=tuple(held),
            remedy="key by something finer, or salt the key and merge downstream",
            evidence={
                "share": round(share, 4),
                "records": sum(counts.hottest for counts in held.values()),
                "offset": first.hottest_offset,
            },
        )
        yield unless_at_most(subject.committed.values(), judgement)
    elif most > bound and _spread(subject):
        yield CheckResult(
            Verdict.UNDECIDABLE,
            f"one key may have up to {most:.1%} of the records, declared at most {bound:.1%}: keys lie in several "
            "partitions, and only the key that has most in each of them is known",
            path=("contents", "key", "max_share"),
            remedy="give all producers one partitioner, so that each key is in one partition",
            evidence={"share": round(share, 4), "share at most": round(most, 4)},
        )


def _of_hottest_key(subject: AuditedTopic) -> dict[int, PartitionCounts]:
    """Return the partitions in which one key has most records: those of the key that has most in them together."""
    by_key: dict[int | tuple[int], dict[int, PartitionCounts]] = {}
    for partition, counts in sorted(subject.committed.items()):
        key = counts.hottest_key if counts.hottest_key is not None else (partition,)
        by_key.setdefault(key, {})[partition] = counts
    return max(by_key.values(), key=lambda held: sum(counts.hottest for counts in held.values()))


def _spread(subject: AuditedTopic) -> bool:
    """Return whether a key may lie in several partitions, as far as the keys' places tell."""
    placement = subject.placement
    if placement is None or placement.partitions == 1 or placement.kind is PlacementKind.ONE:
        return False
    return placement.study is None or placement.study.scattered_keys > 0
