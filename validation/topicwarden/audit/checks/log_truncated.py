"""No log ends before the offset where it ended in the previous audit.

**fail**: the topic has the same id, and the high watermark of a partition is lower than before. Records that consumers
could read, or markers of their transactions, were removed: by an unclean leader election, or because the leader lost
its disk. Retention moves the log start, and compaction leaves gaps; neither moves the log end. A first audit skips this
check.

Example: the only in-sync replica was lost, and ``unclean.leader.election.enable=true`` made an outdated replica leader.

Confirm: ``kafka-get-offsets --topic T --time latest`` is below the offset in the finding, unless records were written
since.

Remedy: write the lost acknowledged records again; set ``min.insync.replicas`` to 2 and disable unclean elections.

Prevent: three replicas, ``min.insync.replicas=2``, ``unclean.leader.election.enable=false``, and producers with
``acks=all``.

Source: ``UnifiedLog.truncateTo``, ``UncleanLeaderElectionsPerSec``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import PreviousState
from topicwarden.model.verdict import Verdict


class Required(PreviousState): ...


def applies(subject: Required) -> bool:
    return True


def judge(subject: Required) -> Iterable[CheckResult]:
    for partition, log in sorted(subject.live.extents.items()):
        before = subject.past.partition(partition)
        if before is not None and log.end < before.end:
            yield CheckResult(
                Verdict.FAIL,
                f"the log ended at offset {before.end:,} in the previous audit, and now ends at {log.end:,}: "
                f"{before.end - log.end:,} offsets below the high watermark were removed",
                path=("config", "min.insync.replicas"),
                partitions=(partition,),
                because=("neither retention nor compaction moves the log end",),
                remedy="write the lost records again; disable unclean elections, and raise min.insync.replicas",
                evidence={"end": log.end, "end_before": before.end},
            )
