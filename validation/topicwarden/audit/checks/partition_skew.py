"""No partition holds more than its declared share.

**fail**: the fullest partition holds more than ``contents: {partitions: {max_skew: …}}`` times the mean number of
committed records. **undecidable**: only a part of the records was read. A skew above the bound only for records of
aborted and open transactions is no ``fail``; one that is below it only for these is not found.

Example: ``contents: {partitions: {max_skew: 4.0}}``; ``partition 2 holds 5.8 times the mean, declared at most 4``.

Remedy: look for a hot key (``hot-key``), or for a producer with a partitioner of its own (``key-partition``).

Source: ``BuiltInPartitioner.partitionForKey``; KIP-794 for records without a key.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.content_faults import unless_at_most
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits(reads_records=True, judges_committed_records=True, compares_partitions=True, needs_every_record=True)


def applies(subject: AuditedTopic) -> bool:
    return subject.contents.partition_max_skew is not None and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.live and subject.contents.partition_max_skew
    records = {partition: counts.records for partition, counts in subject.committed.items()}
    if not (total := sum(records.values())):
        return
    fullest = max(records, key=lambda partition: records[partition])
    skew = records[fullest] * subject.live.topic.partitions / total
    if skew > subject.contents.partition_max_skew:
        judgement = CheckResult(
            Verdict.FAIL,
            f"partition {fullest} holds {skew:.1f} times the mean, "
            f"declared at most {subject.contents.partition_max_skew:g}",
            path=("contents", "partitions", "max_skew"),
            partitions=(fullest,),
            remedy="look for a hot key, or for a producer with a partitioner of its own",
            evidence={
                "skew": round(skew, 3),
                "records": records[fullest],
                "mean": round(total / subject.live.topic.partitions, 1),
            },
        )
        yield unless_at_most(subject.committed.values(), judgement)
