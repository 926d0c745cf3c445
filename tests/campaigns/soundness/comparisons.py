"""Judge the rules that compare records, ``ordered``, ``unique`` and ``references``, with the logs on the disk."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

from tests.campaigns.soundness.logs import Log
from tests.campaigns.soundness.scene import Scene
from tests.campaigns.soundness.workload import Truth
from tests.support.log_files import LogRecord
from topicwarden.model.contents import Contents, OrderedRule, ReferenceRule, UniqueRule
from topicwarden.model.finding import Finding
from topicwarden.model.verdict import Verdict

Records: TypeAlias = Sequence[tuple[int, LogRecord]]
"""Committed records with their partitions, in the order of the offsets of each partition."""
Rule: TypeAlias = OrderedRule | UniqueRule | ReferenceRule
MISSED: Final = "missed"


def _rules(contents: Contents) -> Iterator[tuple[str, Rule, str]]:
    """Yield each rule with its check, and a part of the messages about it."""
    for order in contents.ordered or ():
        yield "ordered", order, f"with {'no higher' if order.strict else 'a lower'} {order.field} "
    for unique in contents.unique or ():
        yield "unique", unique, f"with the same {unique.label} as "
    for reference in contents.references or ():
        yield "references", reference, f"that is no key of {reference.topic},"


def _field(record: LogRecord, path: str) -> Any:
    """Return a field at the top of a value; None if there is none that can be compared."""
    try:
        value = json.loads(record.value or b"")
    except ValueError:
        return None
    found = value.get(path.strip("/")) if isinstance(value, dict) else None
    return None if isinstance(found, bool | list | dict) else found


def broken_order(records: Records, rule: OrderedRule) -> int:
    """Return how many records have a lower value than the record of their key before them in their partition."""
    last: dict[tuple[int, bytes], Any] = {}
    broken = 0
    for partition, record in records:
        if record.key is None:
            continue
        version = _field(record, rule.field)
        if version is None and record.value is not None:
            continue  # a record without the field is not compared; a tombstone ends the sequence
        before = last.get((partition, record.key))
        if version is not None and before is not None and isinstance(version, str) == isinstance(before, str):
            broken += version <= before if rule.strict else version < before
        last[partition, record.key] = version
    return broken


def duplicates(records: Records, rule: UniqueRule) -> int:
    """Return how many records have the identity of the record before them by time."""
    times: dict[tuple[Any, ...], list[int]] = {}
    for _, record in records:
        identity = (*(_field(record, path) for path in rule.fields or ()), *([record.key] if rule.key else []))
        if None not in identity:
            times.setdefault(identity, []).append(record.time)
    pairs = (pair for each in times.values() for pair in pairwise(sorted(each)))
    return sum(rule.within is None or (pair[0] >= 0 and pair[1] - pair[0] <= rule.within) for pair in pairs)


def unknown_references(records: Records, rule: ReferenceRule, keys: set[bytes], before: int) -> int:
    """Return how many records with a timestamp before ``before`` (ms) refer to a key that no record has."""
    old = (record for _, record in records if 0 <= record.time < before - rule.grace_ms)
    references = (_field(record, rule.field) for record in old)
    return sum(reference is not None and str(reference).encode() not in keys for reference in references)


def undecidable_reason(scene: Scene, topic: str) -> str:
    """Return why the keys of a topic on the disk need not be all that it ever had; empty if nothing allows a doubt."""
    if reason := lost_reason(scene, topic):
        return reason
    for partition in range(scene.truths[topic].partitions):
        log, stable = scene.before[topic, partition], _stable(scene, topic, partition)
        if len(log.committed(stable)) < log.end:
            return f"partition {partition} has offsets without a committed record"
    return "" if _is_steady(scene, topic) else "its logs changed during the audit"


def lost_reason(scene: Scene, topic: str) -> str:
    """Return why a key may have been committed that no record on the disk has; empty if none can have been.

    Aborted records and markers lose nothing: their offsets never had a committed record.
    """
    truth = scene.truths.get(topic)
    if truth is None or not truth.there:
        return "the topic is gone"
    if truth.history.declared is None or truth.history.declared.contents.key.format is None:
        return "its keys are not declared"
    for partition in range(truth.partitions):
        log = scene.before.get((topic, partition))
        if log is None:
            return "a partition has no log"
        if log.start > 0 or written_offsets(log) != [*range(log.end)]:
            return f"partition {partition} has lost offsets"
        if _stable(scene, topic, partition) < log.end:
            return f"partition {partition} has an open transaction"
    return ""


def written_offsets(log: Log) -> list[int]:
    """Return the offsets of all records and markers in the files of a log."""
    batches = [batch for segment in log.segments for batch in segment.batches]
    markers = (batch.first for batch in batches if batch.commits is not None)
    return sorted([*markers, *(entry.offset for batch in batches for entry in batch.entries)])


def _logs(scene: Scene, topic: str) -> list[list[tuple[int, Log]]]:
    """Return the logs of all partitions before the audit, and those after it."""
    partitions = [one.partition for one in scene.facts(topic).partitions]
    looks = (scene.before, scene.after)
    return [[(number, look[topic, number]) for number in partitions if (topic, number) in look] for look in looks]


def _is_steady(scene: Scene, topic: str) -> bool:
    return all(scene.steady(topic, one.partition) for one in scene.facts(topic).partitions)


def _broken(scene: Scene, topic: str, rule: Rule) -> tuple[int, int]:
    """Return the least and the largest number of records that break a rule. If the logs changed, there is no largest.

    Records that were there before the audit or after it may have been compared. What is only in one of both was not
    necessarily read.
    """
    looks = [
        [(number, record) for number, log in logs for record in log.committed(_stable(scene, topic, number))]
        for logs in _logs(scene, topic)
    ]
    if isinstance(rule, ReferenceRule):
        known = scene.truths.get(rule.topic)
        there = known is not None and known.there and any(one.name == rule.topic for one in scene.report.topics)
        target = _logs(scene, rule.topic) if there else [[]]
        keys = {
            entry.key
            for number, log in target[0]
            for entry in log.committed(_stable(scene, rule.topic, number))
            if entry.key is not None
        }
        limits = (scene.report.started, scene.report.finished)
        least, most = (unknown_references(looks[0], rule, keys, limit) for limit in limits)
        return (least if _is_steady(scene, topic) else 0), most
    merged = {(number, record.offset): record for look in looks for number, record in look}
    records = [(number, record) for (number, _), record in sorted(merged.items())]
    number = broken_order(records, rule) if isinstance(rule, OrderedRule) else duplicates(records, rule)
    return (number if _is_steady(scene, topic) else 0), number


def _stable(scene: Scene, topic: str, partition: int) -> int:
    return scene.partition(topic, partition).last_stable or 0


def compared(finding: Finding, scene: Scene, truth: Truth) -> str:
    """Return why a ``fail`` is false: its number of records is not that on the disk, or it is no proof."""
    declared = truth.history.declared
    rules = _rules(declared.contents) if declared else ()
    rule = next((rule for check, rule, text in rules if check == finding.check and text in finding.message), None)
    if rule is None:
        return "no such rule is declared"
    if isinstance(rule, ReferenceRule) and (reason := lost_reason(scene, rule.topic)):
        return f"{rule.topic} may have had the keys: {reason}"
    least, most = _broken(scene, truth.name, rule)
    claimed = int(finding.evidence["records"] or 0)
    return "" if max(least, 1) <= claimed <= most else f"{claimed} records are reported, and {least} to {most} are"


def compared_rules(scene: Scene) -> Iterator[tuple[str, str]]:
    """Yield for each rule ``broken``, ``kept`` or ``undecidable``, or ``MISSED`` with a message."""
    for facts in scene.report.topics:
        declared = scene.truths[facts.name].history.declared
        if declared is None or scene.truths[facts.name].denied or not scene.truths[facts.name].there:
            continue
        for check, rule, text in _rules(declared.contents):
            least, most = _broken(scene, facts.name, rule)
            found = [one for one in scene.report.of_topic(facts.name) if one.check == check and text in one.message]
            verdicts = {one.verdict for one in found}
            reason = undecidable_reason(scene, rule.topic) if isinstance(rule, ReferenceRule) else ""
            if reason and Verdict.UNDECIDABLE in verdicts:
                yield "undecidable", ""
            elif least and Verdict.FAIL not in verdicts:
                seen = "; ".join(f"{one.verdict}: {one.message} ({', '.join(one.because)})" for one in found)
                yield (
                    MISSED,
                    f"{check} on {facts.name}: {least} to {most} records {text}; {reason} {seen or 'no finding'}",
                )
            else:
                yield ("broken" if Verdict.FAIL in verdicts else "kept"), ""
