"""The log cleaner may remove more, or sooner: the cleanup policy becomes `compact`, or a setting lets it come earlier.

Of each key and partition the cleaner keeps the newest record; it drops superseded records and, without a word,
records without a key (``LogCleaner``, ``Cleaner.shouldRetainRecord``). What it can remove is bounded by counting
what it must keep: the keys seen among the newest records, as far as these were read. When it comes is not predicted.
"""

from collections.abc import Iterable

from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.topic import Allowance
from topicwarden.plan.consequences.earlier_roll import sooner
from topicwarden.plan.plan_evidence import PlanEvidence, RequiredEvidence, changed
from topicwarden.plan.required_allowance import remedy_of, unseen, unseen_partitions, weight_of
from topicwarden.plan.setting_effects import EFFECTS, lowered
from topicwarden.plan.topic_change import TopicChange
from topicwarden.plan.wording import at_most, count, goes, records_of

AVOIDABLE = True
_LOWER = tuple(name for name, effect in EFFECTS.items() if effect.consequence == "compaction")
_MEANING = {
    "min.cleanable.dirty.ratio": "the share of a log that must be dirty before the cleaner takes it",
    "min.compaction.lag.ms": "how long a record is safe from the cleaner",
    "max.compaction.lag.ms": "after how long the cleaner must come, once something is appended",
    "segment.ms": "after how long the active segment rolls, on an append, and may be cleaned",
    "segment.bytes": "at what size the active segment rolls and may be cleaned",
}


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    if change.live is None or change.before is None or change.after is None or not change.after.compacted:
        return None
    if _becomes(change) or _earlier(change):
        return RequiredEvidence(tail=True)
    return RequiredEvidence() if any(changed(change, name) for name in _MEANING) else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.before and change.after
    earlier = _earlier(change)
    if _becomes(change) or earlier:
        yield _removed(change, evidence, earlier)
    for name, meaning in _MEANING.items():
        if change.before.compacted and name not in earlier and changed(change, name):
            yield Consequence(
                kind="compaction",
                weight=Severity.NOTE,
                message=f"{goes([name], change.before, change.after)}: {meaning}",
                place=change.at("config", name),
            )


def _removed(change: TopicChange, evidence: PlanEvidence, earlier: list[str]) -> Consequence:
    live, tail = change.live, evidence.tail
    assert live and change.before and change.after
    total, hidden = records_of(live), unseen_partitions(live)
    most = total - tail.kept if tail else total
    loses = bool(most or hidden)
    names = ["cleanup.policy"] if _becomes(change) else earlier
    because = list(unseen(live))
    if tail and tail.keyless and _becomes(change):
        exact = "" if tail.whole else f" of the newest {tail.records:,}"
        because.append(
            f"{count(tail.keyless, 'record')}{exact} without a key: the first cleaning drops them, and producers that "
            "send such are refused from now on"
        )
    elif _becomes(change):
        because.append("records without a key are dropped by the first cleaning, and refused from now on")
    because.append("of each key only the newest record is kept; the active segment is not cleaned")
    return Consequence(
        kind="compaction",
        weight=weight_of(change, Allowance.COMPACT) if loses else Severity.NOTE,
        message=f"{_what(change, names)}: the log cleaner removes {at_most(most, 'record')} of {total:,}",
        because=because,
        measured=_measured(tail.records if tail else None, bool(tail and tail.whole)),
        remedy=remedy_of(change, Allowance.COMPACT, "leave the setting as it is") if loses else "",
        evidence={
            "records": most,
            "records in all": total,
            "keyless": tail.keyless if tail else None,
            "records_read": tail.records if tail else None,
            "partitions not seen": len(hidden),
        },
        place=change.at("config", names[0]),
    )


def _becomes(change: TopicChange) -> bool:
    assert change.before and change.after
    return change.after.compacted and not change.before.compacted


def _earlier(change: TopicChange) -> list[str]:
    """Return the settings of which the change lets the cleaner come sooner, of a topic that stays compacted."""
    assert change.before and change.after
    if not change.before.compacted:
        return []
    before, after = change.before.config, change.after.config
    return [*(name for name in _LOWER if lowered(name, before.get(name), after.get(name))), *sooner(change)]


def _what(change: TopicChange, names: list[str]) -> str:
    assert change.before and change.after
    if _becomes(change):
        return "the topic becomes compacted"
    return goes(names, change.before, change.after)


def _measured(read: int | None, whole: bool) -> str:
    if read is None:
        return "the records could not be read (Read on the topic), so that all of them may go"
    return f"{'all' if whole else 'the newest'} {count(read, 'record')} were read; at most, as further keys may be kept"
