"""No record is unread for longer than declared.

``max_lag`` in ``access: {consume: …}`` limits the age of the next record of one group, and
``contents: {consumers: {max_lag: …}}`` that of all groups. The next record is the first one from the committed offset,
or from a later log start, that every consumer gets: markers, aborted transactions and gaps do not count. There is a
tolerance of five seconds for clocks.

**fail**: the next record of a group is older than the limit. With LogAppendTime, the broker's timestamp proves it. With
CreateTime, a producer can set any time. So the proof is an earlier audit, longer ago than the limit, that saw the log
end after this record, and a leader that wrote the record no later. **suspect**: only a producer's timestamp says that
the record is too old; or the group is a share group, which settles records one by one, so that this record may be
settled. If an audit since then saw the log end before the record, it is not as old as its timestamp, and passes.
**undecidable**, each with the reason:

- the record has no timestamp, or one in the future, or it could not be read;
- the record may be one of an open transaction: consumers that read committed wait for its end;
- a group with a limit of its own has committed no offset in the topic; partitions without an offset are not judged;
- there may be groups that this user may not see (Describe on the cluster, or on each group).

Also **undecidable**: the records are not visible (Read on the topic). A group that has read records and not committed
them counts as behind. So does one that was reset to read old records again.

``group-lag`` counts offsets that are lost, or that retention deletes soon, whatever is declared. This check says how
old the next record is, against what is declared, and when the record may be deleted.

Example: ``the next record of group billing is 2 h 5 min old, at offset 14 of partition 0; declared: at most 1h``.

Confirm: ``kafka-consumer-groups --describe --group G`` prints the committed offset. ``kafka-console-consumer --topic T
--partition P --offset O --max-messages 1 --property print.timestamp=true`` prints the timestamp of the next record.

Remedy: start the consumers of the group, or add some; if nobody needs the group, delete it; else raise ``max_lag``.

Prevent: raise an alarm if a group's lag, as time, comes near the limit; declare ``message.timestamp.type:
LogAppendTime`` if the time of arrival matters.

Source: KIP-32, ``LogValidator``; KIP-101 for leader epochs; KIP-932 for share groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.persistence import leader_facts
from topicwarden.audit.collect.horizon import CLOCK_MS
from topicwarden.audit.evidence import Declared, GroupLags
from topicwarden.kafka.read.group_lags import PartitionLag, UnreadRecord
from topicwarden.kafka_facts.access.lag_limits import LagLimit, lag_limit, lag_limits
from topicwarden.model.message_text import counted, first_lines
from topicwarden.model.timestamps import utc
from topicwarden.model.units import DURATION, duration_text
from topicwarden.model.verdict import Verdict


class Required(Declared, GroupLags): ...


CHECK = "lag-in-time"
_MAX_GROUPS = 8
_INTERVALS = 4
"""Intervals of a limit at which audits remember the log ends."""
_SHARED = "a share group settles records one by one, so this one may be settled"
_OPEN = "it may be of an open transaction, and consumers that read committed wait for its end"
_REMEDIES = {
    Verdict.FAIL: "start or add consumers of the group; delete the group if nobody needs it; else raise max_lag",
    Verdict.SUSPECT: "look at the consumers of the group; audit again after the time of max_lag",
    Verdict.UNDECIDABLE: "look at the record and at the group",
}


@dataclass(frozen=True)
class _Observation:
    """An audit at ``at`` (ms) saw the log end at ``end``, under the leader epoch ``epoch``."""

    at: int
    end: int
    epoch: int

    def saw(self, record: UnreadRecord) -> bool:
        """Return whether ``record`` was in the log then.

        A record of a later leader may have replaced the one that was there (KIP-101).
        """
        return record.offset < self.end and 0 <= record.leader_epoch <= self.epoch


@dataclass(frozen=True)
class _Judgement:
    """The verdict on the next record, with the reason, and its age in milliseconds if that is known."""

    verdict: Verdict
    reason: str
    age_ms: int | None = None
    at_least: str = ""


@dataclass(frozen=True)
class _Late:
    """The next record of a group in one partition, if it is or may be older than the limit."""

    group: str
    partition: int
    lag: PartitionLag
    limit: LagLimit
    judgement: _Judgement


def applies(subject: Required) -> bool:
    return bool(lag_limits(subject.declared))


def judge(subject: Required) -> Iterable[CheckResult]:
    observed = {partition: _observations(subject, partition) for partition in subject.live.extents}
    late: dict[tuple[Verdict, tuple[str, ...]], list[_Late]] = {}
    for group, lag in sorted(subject.group_lags.items()):
        limit = lag_limit(subject.declared, group)
        for partition, behind in sorted(lag.partitions.items()) if limit else ():
            assert limit
            found = _judged(subject, behind, limit, observed.get(partition, ()), at_most=lag.at_most)
            if found is not None:
                one = _Late(group, partition, behind, limit, found)
                late.setdefault((found.verdict, limit.path), []).append(one)
    yield from _unseen_groups(subject)
    for (verdict, path), found_late in sorted(late.items()):
        yield _result(subject, verdict, path, found_late)
    yield CheckResult(Verdict.PASS, "", tracked_facts=_remembered(subject, observed))


def _judged(
    subject: Required, lag: PartitionLag, limit: LagLimit, observed: Iterable[_Observation], *, at_most: bool
) -> _Judgement | None:
    """Return the judgement on the next record of a group in one partition; None if the record is not too old."""
    record, now = lag.record, subject.snapshot.taken_at
    if record is None:
        return None if lag.unknown is None else _Judgement(Verdict.UNDECIDABLE, lag.unknown)
    proven, reason = _proven_age(record, observed, now)
    if proven <= limit.max_lag + CLOCK_MS:
        return _unproven(record, limit, observed, now)
    at_least = "at least " if proven != now - record.timestamp else ""
    if not record.committed:
        return _Judgement(Verdict.UNDECIDABLE, _OPEN, proven, at_least)
    if at_most:
        return _Judgement(Verdict.SUSPECT, _SHARED, proven, at_least)
    return _Judgement(Verdict.FAIL, reason, proven, at_least)


def _proven_age(record: UnreadRecord, observed: Iterable[_Observation], now: int) -> tuple[int, str]:
    """Return for how long, in milliseconds, the record has certainly been in the log, and the proof."""
    first = min((each for each in observed if each.saw(record)), key=lambda each: each.at, default=None)
    proven = 0 if first is None else now - first.at
    if record.log_append_time and record.timestamp >= 0 and now - record.timestamp > proven:
        return now - record.timestamp, "the broker set its timestamp (LogAppendTime)"
    end = "" if first is None else f"the audit of {utc(first.at)} saw the log end at {first.end:,}, after this record"
    return proven, end


def _unproven(record: UnreadRecord, limit: LagLimit, observed: Iterable[_Observation], now: int) -> _Judgement | None:
    """Return the judgement on a record that is not certainly older than the limit."""
    written_since = min((now - each.at for each in observed if each.end <= record.offset), default=None)
    if written_since is not None and written_since + CLOCK_MS <= limit.max_lag:
        return None
    age = now - record.timestamp
    if record.timestamp < 0:
        return _Judgement(Verdict.UNDECIDABLE, "the record has no timestamp")
    if age < -CLOCK_MS:
        return _Judgement(Verdict.UNDECIDABLE, f"its timestamp is {duration_text(-age)} in the future")
    if age <= limit.max_lag + CLOCK_MS:
        return None
    if not record.committed:
        return _Judgement(Verdict.UNDECIDABLE, _OPEN, age)
    return _Judgement(Verdict.SUSPECT, "only the producer's timestamp (CreateTime) says so, and it can be any", age)


def _unseen_groups(subject: Required) -> Iterator[CheckResult]:
    """Yield a result if a group with a limit may exist and not be visible, or has no committed offset."""
    groups = subject.consumer_groups
    missing = sorted(
        grant.name
        for grant in subject.declared.access.consume
        if grant.name is not None and grant.max_lag is not None and not grant.prefix
        if grant.name not in subject.group_lags
    )
    of_several = subject.contents.consumers.max_lag is not None or any(
        grant.prefix and grant.max_lag is not None for grant in subject.declared.access.consume
    )
    if not groups.complete and (missing or of_several):
        yield CheckResult(
            Verdict.UNDECIDABLE,
            f"there may be more groups than the {len(groups.groups)} that this user may see",
            remedy="grant Describe on the cluster, or on each group",
        )
    elif missing and any(log.start < log.end for log in subject.live.extents.values()):
        yield CheckResult(
            Verdict.UNDECIDABLE,
            f"it is not known what {', '.join(f'group {name}' for name in missing[:_MAX_GROUPS])} has read: no offset "
            "is committed in the topic",
            path=("access", "consume"),
            remedy="commit offsets, or delete max_lag if the consumers store their offsets elsewhere",
        )


def _result(subject: Required, verdict: Verdict, path: tuple[str, ...], late: list[_Late]) -> CheckResult:
    """Return one result for all groups with the same verdict and the same kind of limit, the oldest record first."""
    late.sort(key=lambda each: (-(each.judgement.age_ms or 0), each.group, each.partition))
    oldest: dict[str, _Late] = {}
    for each in late:
        oldest.setdefault(each.group, each)
    worst, record, age = late[0], late[0].lag.record, late[0].judgement.age_ms
    at = f"at offset {record.offset if record else worst.lag.position:,} of partition {worst.partition}"
    old = "is of unknown age" if age is None else f"is {worst.judgement.at_least}{duration_text(age)} old"
    because = first_lines([_of_group(each) for each in oldest.values()], _MAX_GROUPS, "group")
    return CheckResult(
        verdict,
        f"the next record of group {worst.group} {old}, {at}; declared: at most {DURATION.text(worst.limit.max_lag)}",
        path=path,
        partitions=tuple(sorted({each.partition for each in late})),
        because=(*because, *_expiry(subject, record)),
        remedy=_REMEDIES[verdict],
        evidence={
            "groups": len(oldest),
            "group": worst.group,
            "offset": record.offset if record else worst.lag.position,
            "timestamp": record.timestamp if record else None,
            "age_ms": age,
            "max_lag": worst.limit.max_lag,
        },
    )


def _of_group(late: _Late) -> str:
    unread = f"partition {late.partition} has {counted(late.lag.offsets, 'unread offset')}"
    return f"group {late.group}: {unread}, limit {DURATION.text(late.limit.max_lag)}; {late.judgement.reason}"


def _expiry(subject: Required, record: UnreadRecord | None) -> Iterator[str]:
    """Yield when retention may delete the record, if it deletes by time."""
    retention = subject.live.topic.retention_time
    if retention is not None and record is not None and record.timestamp >= 0:
        left = record.timestamp + retention - subject.snapshot.taken_at
        when = f"in {duration_text(left)} at the earliest" if left > 0 else "at any time"
        yield f"retention.ms is {DURATION.text(retention)}: the record may be deleted {when}"


def _observations(subject: Required, partition: int) -> tuple[_Observation, ...]:
    """Return what earlier audits saw of the end of a partition's log."""
    state, found = subject.past.state, list[_Observation]()
    if state is None:
        return ()
    before, remembered = state.partition(partition), state.open_finding(CHECK, partition)
    if before is not None and before.leader_epoch is not None:
        found.append(_Observation(state.taken_at, before.end, before.leader_epoch))
    facts = remembered.facts if remembered else {}
    for name, at in facts.items():
        kind, _, number = name.partition(" ")
        if kind == "at" and f"end {number}" in facts and f"epoch {number}" in facts:
            found.append(_Observation(at, facts[f"end {number}"], facts[f"epoch {number}"]))
    return tuple(sorted(set(found), key=lambda each: each.at))


def _remembered(subject: Required, observed: Mapping[int, tuple[_Observation, ...]]) -> dict[int, dict[str, int]]:
    """Return the observations that the next audits need, by partition."""
    now, limits, facts = subject.snapshot.taken_at, lag_limits(subject.declared), dict[int, dict[str, int]]()
    for partition, log in subject.live.extents.items():
        epoch = leader_facts(subject, partition).get("leader_epoch")
        current = () if epoch is None else (_Observation(now, log.end, epoch),)
        every = (*observed[partition], *current)
        kept = sorted({each for limit in limits for each in _kept(every, limit, now)}, key=lambda each: each.at)
        for number, each in enumerate(kept):
            values = {f"at {number}": each.at, f"end {number}": each.end, f"epoch {number}": each.epoch}
            facts.setdefault(partition, {}).update(values)
    return facts


def _kept(observed: Iterable[_Observation], limit: int, now: int) -> Iterator[_Observation]:
    """Yield those of ``observed``, the oldest first, that one limit needs.

    These are the youngest one that is older than the limit, and younger ones at intervals, which take its place later.
    """
    older = [each for each in observed if now - each.at > limit + CLOCK_MS]
    yield from older[-1:]
    last = None
    for each in observed:
        if each not in older and (last is None or each.at - last >= limit // _INTERVALS):
            last = each.at
            yield each
