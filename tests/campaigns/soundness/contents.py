"""Judge a report with an independent count over the logs on the brokers' disks: findings about records, and facts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from kafka.partitioner.default import murmur2

from tests.campaigns.soundness.broker import INTERVAL_MS
from tests.campaigns.soundness.comparisons import compared
from tests.campaigns.soundness.logs import Log
from tests.campaigns.soundness.scene import Scene
from tests.campaigns.soundness.workload import Truth
from tests.support.log_files import LogRecord
from topicwarden.model.arrival import DAY_MS, FIRST_TIME, ArrivalContents
from topicwarden.model.contents import Contents
from topicwarden.model.finding import Finding, PartitionFacts

# Judge findings about records with an independent count over the logs on the broker's disk.

CLOCK_MS = 5_000
_SECONDS, _MICROS = 100_000_000_000, 100_000_000_000_000
Wrong = Callable[[LogRecord, Contents, Scene], bool]


def _no_json(entry: LogRecord, contents: Contents, scene: Scene) -> bool:
    if entry.value is None:
        return False
    try:
        json.loads(entry.value)
    except ValueError:
        return True
    return False


def _no_number(entry: LogRecord, contents: Contents, scene: Scene) -> bool:
    """Return whether a value violates the faults' schema: ``n`` must be a number."""
    value = json.loads(entry.value) if entry.value is not None else {"n": 0}
    return not isinstance(value, dict) or not isinstance(value.get("n"), float | int)


def _value(entry: LogRecord, contents: Contents, scene: Scene) -> bool:
    schema = contents.value.schema_file is not None
    return _no_json(entry, contents, scene) or (schema and _no_number(entry, contents, scene))


def _no_text(entry: LogRecord, contents: Contents, scene: Scene) -> bool:
    try:
        (entry.key or b"").decode()
    except UnicodeDecodeError:
        return True
    return False


def _size(entry: LogRecord, contents: Contents, scene: Scene) -> bool:
    return len(entry.key or b"") + len(entry.value or b"") > (contents.records.max_bytes or 0)


_WRONG: Final[dict[str, Wrong]] = {
    "value-schema": _value,
    "key-schema": _no_text,
    "header": lambda entry, contents, scene: not set(contents.headers.required or ()) <= set(entry.headers),
    "record-size": _size,
    "timestamp-unit": lambda entry, contents, scene: entry.time >= 0 and not _SECONDS <= entry.time <= _MICROS,
}
"""By check: whether a committed record is wrong."""


def wrong(check: str, current: Sequence[LogRecord], contents: Contents, scene: Scene) -> list[int]:
    """Return the offsets of wrong records."""
    if check == "timestamp-late":
        return list(_late(current, contents.timestamps.max_late or 0))
    return [entry.offset for entry in current if _WRONG[check](entry, contents, scene)]


def _late(current: Sequence[LogRecord], most: int) -> Iterator[int]:
    highest = None
    for entry in (each for each in current if each.time >= 0):
        if highest is not None and highest - entry.time > most:
            yield entry.offset
        highest = entry.time if highest is None else max(highest, entry.time)


def _contents(truth: Truth) -> Contents:
    return truth.history.declared.contents if truth.history.declared else Contents()


def _faults(finding: Finding, scene: Scene, truth: Truth) -> str:
    """Compare the number of wrong records and the first one; both must be exact if the logs did not change.

    Only a number that the message calls "at least" may be smaller.
    """
    claimed, steady, found = int(finding.evidence["records"] or 0), True, []
    for partition in (one.partition for one in scene.facts(finding.topic).partitions):
        stable = scene.partition(finding.topic, partition).last_stable or 0
        log = scene.steady(finding.topic, partition)
        steady = steady and log is not None
        for each in [log] if log else scene.logs(finding.topic, partition)[:1]:
            contents = _contents(truth)
            known = truth.history.wrong if finding.check == "value-schema" else None
            found += [(partition, at) for at in _wrong_of(known, each.committed(stable), finding, contents, scene)]
    first = (finding.evidence["partition"], finding.evidence["offset"])
    counted = claimed <= len(found) if finding.message.startswith("at least ") else claimed == len(found)
    if steady and (first != min(found, default=(None, None)) or not counted):
        return f"{claimed} records, first at {first}, are reported as wrong, and {len(found)} are, {found[:3]}"
    return "" if found else "no record is wrong"


def _wrong_of(
    known: frozenset[bytes] | None, current: Sequence[LogRecord], finding: Finding, contents: Contents, scene: Scene
) -> list[int]:
    """Return the offsets of wrong records. If the history names the wrong values, use ``known``."""
    if known is not None:
        return [entry.offset for entry in current if entry.value in known]
    return wrong(finding.check, current, contents, scene)


def _future(finding: Finding, scene: Scene, truth: Truth) -> str:
    ahead = (_contents(truth).timestamps.max_ahead or 0) + CLOCK_MS
    for partition in finding.partitions or range(truth.partitions):
        stable = scene.partition(finding.topic, partition).last_stable or 0
        for log in scene.logs(finding.topic, partition):
            if any(entry.time > scene.report.started + ahead for entry in log.committed(stable)):
                return ""
    return "no committed record is stamped so far ahead"


def _counted(expected: Callable[[LogRecord], bool]) -> Callable[[Finding, Scene, Truth], str]:
    """Return a judge that counts the committed records for which ``wanted`` is true."""

    def judge(finding: Finding, scene: Scene, truth: Truth) -> str:
        seen, steady = 0, True
        for partition in finding.partitions:
            stable = scene.partition(finding.topic, partition).last_stable or 0
            logs = scene.logs(finding.topic, partition)
            steady = steady and scene.steady(finding.topic, partition) is not None
            seen += sum(map(expected, logs[0].committed(stable))) if logs else 0
        claimed = finding.evidence["records"]
        if steady and claimed != seen:
            return f"{claimed} are reported, and {seen} exist"
        return "" if seen else "none is there that is committed"

    return judge


def _null_key(finding: Finding, scene: Scene, truth: Truth) -> str:
    return _counted(lambda entry: entry.key is None)(finding, scene, truth)


def _committed(finding: Finding, scene: Scene) -> list[list[LogRecord]] | None:
    """Return the committed records of each partition, or None if a log changed during the audit."""
    logs = [
        (scene.steady(finding.topic, one.partition), one.last_stable or 0)
        for one in scene.facts(finding.topic).partitions
    ]
    current = [log.committed(stable) for log, stable in logs if log]
    return current if len(current) == len(logs) else None


def _skew(finding: Finding, scene: Scene, truth: Truth) -> str:
    logs = _committed(finding, scene)
    if logs is None:
        return ""
    current = [len(entries) for entries in logs]
    if not sum(current):
        return "they hold no committed record"
    return (
        ""
        if max(current) * len(current) / sum(current) > (_contents(truth).partitions.max_skew or 0)
        else f"they hold {current}"
    )


def _hot(finding: Finding, scene: Scene, truth: Truth) -> str:
    current = _committed(finding, scene)
    if current is None:
        return ""
    most = max(Counter(entry.key for log in current for entry in log if entry.key is not None).values(), default=0)
    share = most / sum(map(len, current))
    return "" if share > (_contents(truth).key.max_share or 0) else f"the hottest key has {share:.2%}"


def _locations(finding: Finding, scene: Scene) -> dict[bytes, set[int]]:
    """Return the partitions of each committed key."""
    found: dict[bytes, set[int]] = {}
    for partition in (one.partition for one in scene.facts(finding.topic).partitions):
        stable = scene.partition(finding.topic, partition).last_stable or 0
        for log in scene.logs(finding.topic, partition)[:1]:
            for entry in log.committed(stable):
                if entry.key is not None:
                    found.setdefault(entry.key, set()).add(partition)
    return found


def _still(finding: Finding, scene: Scene) -> bool:
    return all(scene.steady(finding.topic, one.partition) for one in scene.facts(finding.topic).partitions)


def _several(finding: Finding, scene: Scene, truth: Truth) -> str:
    number, claimed = (
        sum(len(current) > 1 for current in _locations(finding, scene).values()),
        finding.evidence["keys_in_several"],
    )
    agreed = number == claimed or (number and not _still(finding, scene))
    return "" if agreed else f"{number} keys do, and {claimed} are reported"


def _placed(finding: Finding, scene: Scene, truth: Truth) -> str:
    """Check the number of misplaced keys. The declared partitioner is murmur2.

    The expected number comes from kafka-python's murmur2: keys that fit no number of partitions. The audits of a
    history are closer together than producers may take to notice new partitions, so no other key is proof.
    """
    fitting = [
        [count for count in range(1, truth.partitions + 1) if (murmur2(key) & 0x7FFFFFFF) % count == partition]
        for key, current in _locations(finding, scene).items()
        for partition in current
    ]
    never, wrong = fitting.count([]), sum(truth.partitions not in counts for counts in fitting)
    none, proven = finding.evidence["fit_none"], finding.evidence["proven"]
    claimed = none + proven if isinstance(none, int) and isinstance(proven, int) else None
    agreed = (claimed == never and never) or (wrong and not _still(finding, scene))
    return "" if agreed else f"{never} keys of {wrong} fit no number of partitions, and {claimed} are reported"


def _stamped(finding: Finding, scene: Scene, truth: Truth) -> str:
    declared, in_force = _contents(truth).timestamps.type, truth.config.get("message.timestamp.type", "CreateTime")
    return "" if in_force != declared else "the configuration is as declared"


def _silent(finding: Finding, scene: Scene, truth: Truth) -> str:
    """Look for a record that brokers stamped within the declared silence; other timestamps prove nothing.

    A later time is a producer's: the topic had ``CreateTime`` before.
    """
    bound = _contents(truth).arrival.max_silence or 0
    if truth.config.get("message.timestamp.type") != "LogAppendTime":
        return ""
    for partition in range(truth.partitions):
        stable = scene.partition(finding.topic, partition).last_stable or 0
        for log in scene.logs(finding.topic, partition):
            earliest, latest = scene.report.started - bound, scene.report.finished
            if any(earliest <= entry.time <= latest for entry in log.committed(stable)):
                return f"a record in partition {partition} is younger"
    return ""


def _in_period(time: int, start: int, arrival: ArrivalContents) -> bool:
    """Return whether a time is in the period with this start. A day is a date on a clock of the declared zone."""
    if arrival.every != DAY_MS:
        return start <= time < start + (arrival.every or 0)
    days = [datetime.fromtimestamp(each / 1000, ZoneInfo(arrival.timezone or "UTC")) for each in (time, start)]
    return days[0].date() == days[1].date() and days[1].time() == datetime.min.time()


def _arrived(finding: Finding, scene: Scene, truth: Truth) -> str:
    """Count the committed records of the first period that the finding names."""
    arrival, period, number = _contents(truth).arrival, finding.evidence["first_time"], 0
    for partition in range(truth.partitions):
        stable = scene.partition(finding.topic, partition).last_stable or 0
        log = scene.steady(finding.topic, partition)
        if log is None:
            return ""
        times = (entry.time for entry in log.committed(stable) if entry.time >= FIRST_TIME)
        number += sum(_in_period(time, int(period or 0), arrival) for time in times)
    breaks = (arrival.max is not None and number > arrival.max) or number < (arrival.min or 0)
    return "" if breaks else f"{number} records are in the period that begins at {period}"


ORACLES: Final[dict[str, Callable[[Finding, Scene, Truth], str]]] = {
    **dict.fromkeys((*_WRONG, "timestamp-late"), _faults),
    "null-key": _null_key,
    "empty-value": _counted(lambda entry: entry.value == b""),
    "timestamp-future": _future,
    "timestamp-type": _stamped,
    "partition-skew": _skew,
    "hot-key": _hot,
    "key-in-several-partitions": _several,
    "key-partition": _placed,
    "arrival-silence": _silent,
    "arrival-count": _arrived,
    "personal-fields": lambda finding, scene, truth: "it never fails",
    **dict.fromkeys(("ordered", "unique", "references"), compared),
    "expression": lambda finding, scene, truth: "no expression is declared",
}


# Compare a report's facts about partitions with the disk. Counts and boundaries must match exactly.


def inexact(scene: Scene) -> Iterator[str]:
    """Yield every wrong number. If a log changed during the audit, check only boundaries, which only increase.

    Boundaries are only certain for the current settings and for readable records. Three cases are skipped: topics with
    changed settings, topics that this user may not read, and logs with hidden records. Hidden records are before the
    log start after DeleteRecords, but still on disk.
    """
    for facts in scene.report.topics:
        for reported in facts.partitions:
            truth = scene.truths[facts.name]
            wrong: list[str] = []
            if truth.denied:
                continue
            if log := scene.steady(facts.name, reported.partition):
                wrong += _counts(reported, log)
            if (after := scene.after.get((facts.name, reported.partition))) and _as_written(after, truth):
                wrong += _borders(reported, after, scene, truth)
            yield from (f"{facts.name}-{reported.partition}: {one}" for one in wrong)


def _as_written(log: Log, truth: Truth) -> bool:
    return not truth.changed and not any(batch.first < log.start for one in log.segments for batch in one.batches)


def counted(scene: Scene) -> int:
    """Return the number of partitions that did not change during the audit.

    Only the counts of these partitions can be checked exactly.
    """
    return sum(scene.steady(*topic_partition) is not None for topic_partition in scene.after)


def _counts(reported: PartitionFacts, log: Log) -> Iterator[str]:
    entries = log.entries
    keyed = [entry.key for entry in entries if entry.key is not None]
    sizes = [len(entry.key or b"") + len(entry.value or b"") for entry in entries]
    expected = {
        "log_start": log.start,
        "log_end": log.end,
        "log_bytes": log.size,
        "records": len(entries),
        "payload_bytes": sum(sizes),
        "largest_record": max(sizes, default=0),
        "null_keys": len(entries) - len(keyed),
        "tombstones": sum(entry.value is None for entry in entries),
        "empty_values": sum(entry.value == b"" for entry in entries),
        "first_timestamp": min((entry.time for entry in entries if entry.time >= 0), default=None),
        "last_timestamp": max((entry.time for entry in entries if entry.time >= 0), default=None),
    }
    if reported.keys is not None:
        expected |= {"keys": len(set(keyed)), "superseded": len(keyed) - len(set(keyed))}
    for name, value in expected.items():
        if getattr(reported, name) != value:
            yield f"{name} is reported as {getattr(reported, name)}, and is {value}"


def _borders(reported: PartitionFacts, log: Log, scene: Scene, truth: Truth) -> Iterator[str]:
    if reported.rolled is not None and reported.rolled > max(log.active, log.start):
        yield f"rolled is reported as {reported.rolled}, and the active segment begins at {log.active}"
    if reported.cleanable is not None:
        lag = int(truth.config.get("min.compaction.lag.ms", "0"))
        dirty = log.dirty(reported.last_stable or 0, lag, scene.report.finished)
        reached = max([log.cleaned, *(log.end_of(one) for one in dirty)])
        if reported.cleanable > max(reached, log.start):
            yield f"cleanable is reported as {reported.cleanable}, and the cleaner may go up to {reached}"
    if reported.overdue is not None:
        limit = scene.report.finished - int(truth.config.get("retention.ms", 7 * 86_400_000)) - INTERVAL_MS
        standing = [one for one in log.segments[:-1] if one.base < reported.overdue and log.end_of(one) > log.start]
        if any(one.time >= limit for one in standing) or reported.overdue > max(log.active, log.start):
            yield f"overdue is reported as {reported.overdue}, and segments below have not expired"
