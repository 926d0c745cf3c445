"""No log ends before where it ended at the last look.

**fail**: the topic is the same, by its id, and a partition's high watermark is lower than it was. What consumers had
read was taken back: an unclean leader election, or a leader that lost its disk. What retention deletes moves the
start of a log, and compaction leaves gaps: neither moves its end. Not looked at in a first audit.

Example: the only replica in sync was lost, and ``unclean.leader.election.enable=true`` let one lead that was behind.

Remedy: write again what was acknowledged since; set ``min.insync.replicas`` to 2 and forbid unclean elections.

Source: ``UnifiedLog.truncateTo``, ``UncleanLeaderElectionsPerSec``.
"""

from collections.abc import Iterable

from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits()


def applies(subject: AuditedTopic) -> bool:
    return subject.live is not None and subject.past.state is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.live
    for partition, log in sorted(subject.live.extents.items()):
        before = subject.past.partition(partition)
        if before is not None and log.end < before.end:
            yield CheckResult(
                Verdict.FAIL,
                f"ended at offset {before.end:,} at the last audit, and ends at {log.end:,}: "
                f"{before.end - log.end:,} offsets that consumers could read were taken back",
                path=("config", "min.insync.replicas"),
                partitions=(partition,),
                because=("neither retention nor compaction moves the end of a log",),
                remedy="write again what was acknowledged; forbid unclean elections, and raise min.insync.replicas",
                evidence={"end": log.end, "end_before": before.end},
            )
