"""The log cleaner may remove more records, or remove them sooner.

This happens if the cleanup policy becomes `compact`, or if a setting makes the cleaner run earlier. For each key and
partition the cleaner keeps the newest committed record. It silently drops superseded records, those of aborted
transactions, and records without a key
(``LogCleaner``, ``Cleaner.shouldRetainRecord``). The upper bound of removed records is the total minus the records that
the cleaner must keep, which are counted by key among the newest records that were read. The time of a cleaning is not
predicted.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.consequences.earlier_roll import settings_that_roll_sooner
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.kinds.topic.loss_severity import remedy_of, severity_of, unseen_partitions, unseen_reasons
from topicwarden.kinds.topic.setting_effects import EFFECTS
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.consequence_text import at_most_of, changes_text, records_of

AVOIDABLE = True
_LOWER = tuple(name for name, effect in EFFECTS.items() if effect.consequence == "compaction")
_MEANING = {
    "min.cleanable.dirty.ratio": "the share of a log that must be dirty before the cleaner runs",
    "min.compaction.lag.ms": "how long a record is safe from the cleaner",
    "max.compaction.lag.ms": "the longest time after an append until the cleaner must run",
    "segment.ms": "the age at which the active segment rolls, on an append, and may be cleaned",
    "segment.bytes": "the size at which the active segment rolls and may be cleaned",
}


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    if change.live is None or change.before is None or change.after is None or not change.after.compacted:
        return None
    if _becomes_compacted(change) or _settings_that_clean_earlier(change):
        return RequiredEvidence(newest_records=True, use=True)
    return RequiredEvidence() if change.changed(*_MEANING) else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.before and change.after
    earlier = _settings_that_clean_earlier(change)
    if _becomes_compacted(change) or earlier:
        yield _removal(change, evidence, earlier)
    for name, meaning in _MEANING.items():
        if change.before.compacted and name not in earlier and change.changed(name):
            yield Consequence(
                kind="compaction",
                severity=Severity.NOTE,
                message=f"{changes_text([name], change.before, change.after)}: {meaning}",
                location=change.at("config", name),
            )


def _removal(change: TopicChange, evidence: PlanEvidence, earlier: list[str]) -> Consequence:
    live, newest = change.live, evidence.newest_records
    assert live and change.before and change.after
    total, hidden = records_of(live), unseen_partitions(live)
    # Of a topic that was read completely, the records are known; its offsets include gaps and markers of transactions.
    present = newest.records if newest and newest.complete else total
    removable = max(0, present - newest.retained) if newest else total
    loses = bool(removable or hidden)
    names = ["cleanup.policy"] if _becomes_compacted(change) else earlier
    because = list(unseen_reasons(live))
    if newest and newest.keyless and _becomes_compacted(change):
        exact = "" if newest.complete else f" of the newest {newest.records:,}"
        because.append(
            f"{counted(newest.keyless, 'record')}{exact} without a key: the first cleaning drops them, and producers "
            "that send records without a key are refused from now on"
        )
    elif _becomes_compacted(change):
        because.append("records without a key are dropped by the first cleaning, and refused from now on")
    because.append("only the newest record of each key is kept; the active segment is not cleaned")
    return Consequence(
        kind="compaction",
        severity=severity_of(change, AllowedChange.COMPACT) if loses else Severity.NOTE,
        message=f"{_change_text(change, names)}: the log cleaner removes {at_most_of(removable, present, 'record')}",
        because=because,
        measured=_measured(newest.records if newest else None, bool(newest and newest.complete)),
        remedy=remedy_of(change, AllowedChange.COMPACT, "leave the setting as it is") if loses else "",
        evidence={
            "records": removable,
            "records in all": present,
            "keyless": newest.keyless if newest else None,
            "records_read": newest.records if newest else None,
            "partitions not seen": len(hidden),
        },
        location=change.at("config", names[0]),
    )


def _becomes_compacted(change: TopicChange) -> bool:
    assert change.before and change.after
    return change.after.compacted and not change.before.compacted


def _settings_that_clean_earlier(change: TopicChange) -> list[str]:
    """Return the settings whose change makes the cleaner run sooner, for a topic that stays compacted."""
    assert change.before
    if not change.before.compacted:
        return []
    return [*change.lowered(*_LOWER), *settings_that_roll_sooner(change)]


def _change_text(change: TopicChange, names: list[str]) -> str:
    assert change.before and change.after
    if _becomes_compacted(change):
        return "the topic becomes compacted"
    return changes_text(names, change.before, change.after)


def _measured(read: int | None, whole: bool) -> str:
    if read is None:
        return "the records could not be read (Read on the topic), so all of them may be removed"
    records = f"{'all' if whole else 'the newest'} {counted(read, 'record')}"
    return f"{records} were read; at most, because further keys may be kept"
