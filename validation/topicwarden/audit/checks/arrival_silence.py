"""A topic receives records.

Judges topics with ``contents: {arrival: {max_silence: …}}``: how long ago a committed record last arrived, in any
partition.

**fail**: in every partition, no committed record has arrived for longer than ``max_silence``. Either of these proves
it:

- Earlier audits saw the same end of the log, under the same leader. Nothing was appended since the first of them. The
  clock is that of the machines that audit.
- The newest record has the timestamp type ``LogAppendTime``. The leader's clock sets such a timestamp when the record
  arrives. It may differ from the clock of this audit by 5 s. If the record arrived after the previous audit, only the
  time since then counts. Nothing is concluded if a transaction is open, or if a later record may have been compacted.

A timestamp of the type ``CreateTime`` proves no silence: the producer's clock may be late, and records may be sent
late. **undecidable**: all records are older than ``max_silence`` by such timestamps, or none is retained, and no audit
saw the same end of the log that long ago. Also **undecidable**: there are too many records of transactions to find the
newest committed one.

**pass**: a committed record arrived since an audit within ``max_silence``, or the newest timestamp is younger and not
ahead of this audit. A pass names the stalled partitions: those with a proven silence. A producer whose clock is ahead
by less than ``max_silence`` can hide a silence until the next audit.

Records of aborted transactions and control records do not count. Records of an open transaction, and those after it,
count when it ends.

Example: ``no committed record has arrived for 31 min, declared at most 15 min``; the producer lost its credentials.

Confirm: ``kafka-get-offsets --topic T --time latest`` prints the same offsets again and again.

Remedy: look at the producers, and for an open transaction (``hung-transaction``); or declare the silence that is
normal.

Prevent: audit more often than ``max_silence``; with ``message.timestamp.type=LogAppendTime``, one audit is enough.

Source: ``LogValidator``, which sets ``LogAppendTime``; ``UnifiedLog``, whose end only grows under one leader; KIP-32.
"""

from collections.abc import Iterable, Sequence

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import AT_MOST
from topicwarden.audit.checks.common.persistence import leader_facts, uncompacted_since
from topicwarden.audit.collect.horizon import CLOCK_MS
from topicwarden.audit.evidence import EveryPartition, ExactCommitted, Live
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.model.message_text import counted
from topicwarden.model.units import DURATION, duration_text
from topicwarden.model.verdict import Verdict

CHECK = "arrival-silence"
_LISTED = 5


class Required(ExactCommitted, EveryPartition): ...


def applies(subject: Live) -> bool:
    return subject.contents.arrival.max_silence is not None


def judge(subject: Required) -> Iterable[CheckResult]:
    bound, past = subject.contents.arrival.max_silence or 0, subject.past.state
    extents = subject.live.extents
    if not extents:
        return
    facts = {partition: leader_facts(subject, partition) | {"end": log.end} for partition, log in extents.items()}
    unmoved = {partition: _unmoved_ms(subject, partition, facts[partition]) for partition in extents}
    silent = {partition: max(unmoved[partition] or 0, _appended_ms(subject, partition) or 0) for partition in extents}
    stalled = sorted(partition for partition in extents if silent[partition] > bound)
    fresh = [partition for partition in extents if partition not in stalled and _is_fresh(subject, partition, bound)]
    uncertain = [partition for partition in fresh if subject.committed[partition].at_most]
    verdict, message, remedy = Verdict.PASS, "", ""
    because: tuple[str, ...] = ()
    if len(stalled) == len(extents):
        verdict = Verdict.FAIL
        message = f"no committed record has arrived for {duration_text(min(silent.values()))}"
        because = tuple(_proofs(unmoved, bound))
        remedy = "look at the producers, and for an open transaction; or declare the silence that is normal"
    elif len(uncertain) < len(fresh):
        if stalled:
            listed = ", ".join(map(str, stalled[:_LISTED])) + (", …" if len(stalled) > _LISTED else "")
            message = f"{counted(len(stalled), 'partition')} received no record for longer than declared: {listed}"
    elif fresh:
        verdict, message, because = Verdict.UNDECIDABLE, "the newest records may not be committed", (AT_MOST,)
        remedy = "audit with --since last more often, or look at the newest records with isolation.level=read_committed"
    else:
        verdict, message = Verdict.UNDECIDABLE, "it is not known whether a record has arrived in time"
        because = ("timestamps of producers prove no silence, and no earlier audit that long ago saw the same log end",)
        again = past is None or all(each is not None for at, each in unmoved.items() if at not in stalled)
        more_often = "audit more often than max_silence, or declare message.timestamp.type: LogAppendTime"
        remedy = f"audit again after {DURATION.text(bound)}" if again else more_often
    yield CheckResult(
        verdict,
        f"{message}, declared at most {DURATION.text(bound)}" if message else "",
        path=("contents", "arrival", "max_silence"),
        partitions=_concerned(verdict, extents, stalled),
        because=because,
        remedy=remedy,
        evidence={"silent_ms": min(silent.values()), "declared_ms": bound, "stalled_partitions": len(stalled)},
        tracked_facts=facts,
    )


def _concerned(verdict: Verdict, partitions: Iterable[int], stalled: Sequence[int]) -> tuple[int, ...]:
    if verdict is Verdict.UNDECIDABLE:
        return ()
    return tuple(stalled if verdict is Verdict.PASS else sorted(partitions))


def _unmoved_ms(subject: Required, partition: int, facts: dict[str, int]) -> int | None:
    """Return for how long (ms) all audits have seen the same log end under the same leader; None if not yet."""
    persisted = subject.persisted_ms(CHECK, partition, facts, ()) if "leader_epoch" in facts else None
    return None if persisted is None else max(0, persisted - CLOCK_MS)


def _appended_ms(subject: Required, partition: int) -> int | None:
    """Return how long ago (ms) the newest record arrived at least, by the leader's clock; None if that is unknown."""
    counts, past = subject.committed.get(partition), subject.past.state
    newest = _newest(counts)
    if counts is None or newest is None or counts.last_timestamp is None:
        return None
    offset, kind = newest
    log, kept_since, now = subject.live.extents[partition], uncompacted_since(subject), subject.snapshot.taken_at
    is_last = offset == log.end - 1 or (kept_since is not None and kept_since <= counts.last_timestamp)
    if kind != "LogAppendTime" or log.last_stable < log.end or not is_last:
        return None
    since = now - counts.last_timestamp - CLOCK_MS
    before = subject.past.partition(partition)
    arrived_since = past is not None and (before is None or offset >= before.end)
    return min(since, now - past.taken_at) if past is not None and arrived_since else since


def _is_fresh(subject: Required, partition: int, bound: int) -> bool:
    """Return whether a record has arrived within ``bound`` (ms), by its timestamp or since the previous audit."""
    counts, past, now = subject.committed.get(partition), subject.past.state, subject.snapshot.taken_at
    newest = _newest(counts)
    if counts is None or newest is None:
        return False
    before = subject.past.partition(partition)
    if past is not None and before is not None and newest[0] >= before.last_stable and now - past.taken_at <= bound:
        return True
    return counts.last_timestamp is not None and now - bound <= counts.last_timestamp <= now + CLOCK_MS


def _newest(counts: PartitionCounts | None) -> tuple[int, str] | None:
    """Return the offset and the timestamp type of the newest committed record."""
    types = counts.timestamp_types if counts else {}
    return max(((found.last_offset, kind) for kind, found in types.items()), default=None)


def _proofs(unmoved: dict[int, int | None], bound: int) -> Iterable[str]:
    by_end = sum((each or 0) > bound for each in unmoved.values())
    if by_end:
        yield f"{counted(by_end, 'log end')} did not move since an earlier audit"
    if by_end < len(unmoved):
        yield "the other records are older by the clock of the brokers (LogAppendTime)"
