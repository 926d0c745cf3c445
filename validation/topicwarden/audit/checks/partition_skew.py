"""No partition holds more than its declared share.

**fail**: the fullest partition holds more than ``contents: {partitions: {max_skew: …}}`` times the mean.
"""

from collections.abc import Iterable

from topicwarden.audit.subject import Judgement, Subject
from topicwarden.finding import Verdict


def applies(subject: Subject) -> bool:
    return subject.contents.partition_max_skew is not None and subject.live is not None


def judge(subject: Subject) -> Iterable[Judgement]:
    assert subject.live and subject.contents.partition_max_skew
    records = {partition: counts.records for partition, counts in subject.counts.items()}
    if not (total := sum(records.values())):
        return
    fullest = max(records, key=lambda partition: records[partition])
    skew = records[fullest] * subject.live.topic.partitions / total
    if skew > subject.contents.partition_max_skew:
        yield Judgement(
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
