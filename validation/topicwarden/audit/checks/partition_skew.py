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

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import undecidable_if_upper_bound
from topicwarden.audit.evidence import CommittedCounts, EveryPartition, EveryRecord, Live
from topicwarden.model.message_text import above
from topicwarden.model.verdict import Verdict


class Required(CommittedCounts, EveryPartition, EveryRecord): ...


def applies(subject: Live) -> bool:
    return subject.contents.partitions.max_skew is not None


def judge(subject: Required) -> Iterable[CheckResult]:
    bound = subject.contents.partitions.max_skew or 1.0
    records = {partition: counts.records for partition, counts in subject.committed.items()}
    if not (total := sum(records.values())):
        return
    fullest = max(records, key=lambda partition: records[partition])
    skew = records[fullest] * subject.live.topic.partitions / total
    if skew > bound:
        result = CheckResult(
            Verdict.FAIL,
            f"partition {fullest} holds {above(skew, bound)} times the mean, declared at most {bound:g}",
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
