"""No partition has more than its declared share of the records.

**fail**: the fullest partition has more than ``contents: {partitions: {max_skew: …}}`` times the mean number of
committed records. **undecidable**: only a part of the records was read. A skew that exceeds the bound only with records
of aborted and open transactions is not a ``fail``. A skew that is below the bound only because of these records is not
detected.

Example: ``contents: {partitions: {max_skew: 4.0}}``; ``partition 2 holds 5.8 times the mean, declared at most 4``.

Confirm: subtract the offsets of ``kafka-get-offsets --topic T --time earliest`` from those of
``kafka-get-offsets --topic T --time latest``; a partition has at most this number of records.

Remedy: look for a hot key (``hot-key``), or for a producer with a custom partitioner (``key-partition``).

Prevent: choose a key with many values of similar frequency.

Source: ``BuiltInPartitioner.partitionForKey``; KIP-794 for records without a key.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.content_faults import undecidable_if_upper_bound
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits(reads_records=True, judges_committed_records=True, compares_partitions=True, needs_every_record=True)


def applies(subject: AuditedTopic) -> bool:
    return subject.contents.partitions.max_skew is not None and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.live and subject.contents.partitions.max_skew
    records = {partition: counts.records for partition, counts in subject.committed.items()}
    if not (total := sum(records.values())):
        return
    fullest = max(records, key=lambda partition: records[partition])
    skew = records[fullest] * subject.live.topic.partitions / total
    if skew > subject.contents.partitions.max_skew:
        result = CheckResult(
            Verdict.FAIL,
            f"partition {fullest} holds {skew:.1f} times the mean, "
            f"declared at most {subject.contents.partitions.max_skew:g}",
            path=("contents", "partitions", "max_skew"),
            partitions=(fullest,),
            remedy="look for a hot key, or for a producer with a custom partitioner",
            evidence={
                "skew": round(skew, 3),
                "records": records[fullest],
                "mean": round(total / subject.live.topic.partitions, 1),
            },
        )
        yield undecidable_if_upper_bound(subject.committed.values(), result)
