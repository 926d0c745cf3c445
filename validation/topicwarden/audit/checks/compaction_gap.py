"""The cleaner left no superseded record in the part of a log that it has cleaned.

A cleaning keeps the last record of each key, over the whole log up to the end of the cleaned part. So if the cleaner
removed a record, no superseded pair can remain before it.

**fail**: the previous audit saw three records: two of one key, and one after them. Since then, the cleaner has removed
the third record, and the pair is still present (read again, with its offsets and key). The same replica has led the
partition the whole time (leader epoch), because each replica cleans its own log. The proof needs no waiting time and
no segment roll. A first audit skips this check.

Example: a checkpoint restored from a backup marks the head of a log as clean, although it is not. The cleaner never
cleans that part again.

Confirm: ``kafka-dump-log --print-data-log --files`` with the segments of the two offsets shows the same key twice.

Remedy: stop the broker that leads the partition, and delete the text file ``cleaner-offset-checkpoint`` in the log
directory of the partition. The cleaner then cleans all compacted logs of that directory again. Do not edit the file: if
its second line is not the number of its entries, the broker takes the whole log directory offline.

Prevent: restore the disk of a broker with its logs and its checkpoint files together, or not at all.

Source: ``Cleaner.doClean``, ``Cleaner.shouldRetainRecord``; ``CheckpointFile``, ``CheckpointFileWithFailureHandler``:
https://github.com/apache/kafka/blob/trunk/server-common/src/main/java/org/apache/kafka/server/common/CheckpointFile.java
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.persistence import first_superseded_pair, removed_by_cleaner, same_leader
from topicwarden.audit.evidence import ApacheLog, Counts, LiveSettings, PreviousState
from topicwarden.model.verdict import Verdict


class Required(LiveSettings, PreviousState, Counts, ApacheLog): ...


def applies(subject: LiveSettings) -> bool:
    return subject.compacted


def judge(subject: Required) -> Iterable[CheckResult]:
    for partition in sorted(
        {record.partition for record in subject.past.still_present if record.superseded_by is not None}
    ):
        pair = first_superseded_pair(subject, partition)
        if pair is None or not same_leader(subject, partition):
            continue
        removed = [record for record in removed_by_cleaner(subject, partition) if record.offset > pair.superseded_by]
        if removed:
            yield CheckResult(
                Verdict.FAIL,
                f"the cleaner removed offset {removed[0].offset:,} and left offset {pair.offset:,}, although the "
                f"earlier offset {pair.superseded_by:,} supersedes it",
                path=("config", "cleanup.policy"),
                partitions=(partition,),
                because=(
                    "a cleaning keeps only the last record of each key, up to the end of the cleaned part",
                    "the same replica led the partition between both audits",
                ),
                remedy="stop the leader, delete cleaner-offset-checkpoint (do not edit it), and start the leader",
                evidence={
                    "offset": pair.offset,
                    "superseded_by": pair.superseded_by,
                    "cleaned_away": removed[0].offset,
                },
            )
