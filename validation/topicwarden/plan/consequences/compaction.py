"""What the cleaner may take, and when: the settings of a compacted topic.

`delete.retention.ms` counts from the first cleaning that meets a tombstone (KIP-534); a reader that is
further behind than that never learns of the deletion. `segment.ms` and `max.compaction.lag.ms` bound how
long a record stays in the active segment, `min.compaction.lag.ms` how long it is safe from the cleaner,
`min.cleanable.dirty.ratio` how much must be dirty before it comes.
"""

from collections.abc import Iterable

from topicwarden.change import Consequence, Weight
from topicwarden.plan.change import Change
from topicwarden.plan.consequences.said import group_effects, listed, times
from topicwarden.plan.evidence import Asks, Evidence, changed, filled

_TOMBSTONES = "delete.retention.ms"
_SAID = {
    "min.cleanable.dirty.ratio": "the share of a log that must be dirty before the cleaner takes it",
    "min.compaction.lag.ms": "how long a record is safe from the cleaner",
    "max.compaction.lag.ms": "after how long the cleaner must come, once something is appended",
    "segment.ms": "after how long the active segment rolls, on an append, and may be cleaned",
    "segment.bytes": "at what size the active segment rolls and may be cleaned",
}


def asks(change: Change, now: int) -> Asks | None:
    if change.before is None or change.after is None or not change.after.compacted:
        return None
    if _shorter(change):
        return Asks(times=frozenset({_horizon(change, now)}), groups=True)
    return Asks() if any(changed(change, name) for name in _SAID) else None


def foretell(change: Change, evidence: Evidence) -> Iterable[Consequence]:
    assert change.before and change.after
    if _shorter(change):
        yield _tombstones(change, evidence)
    for name, meaning in _SAID.items():
        if changed(change, name):
            before, after = change.before.config.get(name), change.after.config.get(name)
            yield Consequence(
                kind="compaction",
                weight=Weight.NOTE,
                message=f"{name} goes from {_spelled(name, before)} to {_spelled(name, after)}: {meaning}",
                place=change.at("config", name),
            )


def _tombstones(change: Change, evidence: Evidence) -> Consequence:
    assert change.live and change.before and change.after
    horizon = _horizon(change, evidence.now)
    old = evidence.below(change.live, horizon)
    going = {partition: (extent.start, old[partition]) for partition, extent in filled(change.live).items()}
    behind = group_effects(evidence.groups, change.name, going)
    names = sorted({effect.group for effect in behind})
    return Consequence(
        kind="tombstones",
        weight=Weight.DANGER if behind else Weight.NOTE,
        message=f"{_TOMBSTONES} goes from {times(change.before.number(_TOMBSTONES))} to "
        f"{times(change.after.number(_TOMBSTONES))}: "
        + (
            f"{listed(names)} lag further behind than that, and may never learn of deletions"
            if behind
            else "no group that has committed offsets is further behind than that"
        ),
        because=["a tombstone goes that long after the cleaning that first met it"],
        measured="committed offsets against the offset that was written before the new time; tombstones among those "
        "records are not counted",
        remedy="let the groups catch up first, or let them read the topic from its start afterwards" if behind else "",
        evidence={"groups_behind": len(names)},
        groups=behind,
        place=change.at("config", _TOMBSTONES),
    )


def _shorter(change: Change) -> bool:
    assert change.before and change.after
    before, after = change.before.number(_TOMBSTONES), change.after.number(_TOMBSTONES)
    return change.before.compacted and before is not None and after is not None and after < before


def _horizon(change: Change, now: int) -> int:
    assert change.after
    return now - (change.after.number(_TOMBSTONES) or 0)


def _spelled(name: str, value: str | None) -> str:
    if value is None:
        return "nothing"
    return times(int(value)) if name.endswith(".ms") else value
