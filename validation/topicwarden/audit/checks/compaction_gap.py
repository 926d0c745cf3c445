"""What the cleaner has passed, it has cleaned.

A cleaning keeps of each key the last record, over the whole log up to where it ends. So where it has taken
records away, no record may stand that one before those supersedes.

**fail**: at the last look three records stood: two of one key, and one behind them. That last one was cleaned away
since, the pair still stands (read again, to the offset, with its key), and the same replica led the partition all
the time (leader epoch), as replicas clean on their own. It takes no time and no roll to prove. Not looked at in a
first audit.

Example: a checkpoint restored from a backup says that the head of a log is clean, which it is not: no cleaning ever
looks at it again.

Remedy: compare ``cleaner-offset-checkpoint`` with the log (``DumpLogSegments``); with the broker stopped, delete the
partition's line from it, and the whole log is cleaned again.

Source: ``Cleaner.doClean``, ``Cleaner.shouldRetainRecord``.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.persistence import cleaned_away, first_pair, same_leader
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits(reads_records=True, needs_previous_audit=True)


def applies(subject: AuditedTopic) -> bool:
    return subject.compacted and subject.past.state is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    for partition in sorted({one.partition for one in subject.past.still_present}):
        if not any(one.partition == partition and one.superseded_by is not None for one in subject.past.still_present):
            continue
        pair = first_pair(subject, partition)
        if pair is None or not same_leader(subject, partition):
            continue
        beyond = [one for one in cleaned_away(subject, partition) if one.offset > pair.superseded_by]
        if beyond:
            yield CheckResult(
                Verdict.FAIL,
                f"the cleaner took offset {beyond[0].offset:,} away and left offset {pair.offset:,}, though offset "
                f"{pair.superseded_by:,}, before it, is of the same key",
                path=("config", "cleanup.policy"),
                partitions=(partition,),
                because=(
                    "a cleaning keeps of each key the last record, over the whole log up to where it ends",
                    "the same replica led the partition all the time between both looks",
                ),
                remedy="compare the leader's cleaner-offset-checkpoint with its log (DumpLogSegments)",
                evidence={
                    "offset": pair.offset,
                    "superseded_by": pair.superseded_by,
                    "cleaned_away": beyond[0].offset,
                },
            )
