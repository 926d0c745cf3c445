"""Segments roll sooner under a retention: what only a large or an old segment still held is deleted.

Kafka deletes whole segments. Records that have expired, and bytes above ``retention.bytes``, stay as long as their
segment holds a younger record or is too large to go. Smaller segments let them go with the next roll.
Source: ``UnifiedLog.deleteOldSegments``, ``LogSegment.shouldRoll``.
"""

from collections.abc import Iterable

from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.topic import Allowance
from topicwarden.plan.consequences.retention_cut import bytes_over, size_limit
from topicwarden.plan.plan_evidence import PlanEvidence, RequiredEvidence, filled
from topicwarden.plan.required_allowance import remedy_of, unseen, unseen_partitions, weight_of
from topicwarden.plan.setting_effects import EFFECTS, SettingRisk, lowered, raised
from topicwarden.plan.topic_change import TopicChange
from topicwarden.plan.wording import at_most, count, goes, group_effects, readers, records_of

AVOIDABLE = True
SETTINGS = tuple(name for name, effect in EFFECTS.items() if "earlier-roll" in effect.consequence)


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    if change.live is None or not sooner(change) or change.after is None:
        return None
    kept, limit = change.after.retention_time, size_limit(change.after)
    if kept is None and limit is None:
        return None
    return RequiredEvidence(times=frozenset() if kept is None else frozenset({now - kept}), groups=True)


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    live, after = change.live, change.after
    assert live and after and change.before
    kept, limit = after.retention_time, size_limit(after)
    expired = evidence.below(live, evidence.now - kept) if kept is not None else {}
    by_time = {
        number: (extent.start, expired[number])
        for number, extent in filled(live).items()
        if expired.get(number, extent.start) > extent.start
    }
    over = bytes_over(live, limit) if limit is not None else {}
    sizes_hidden = limit is not None and any(extent.log_bytes is None for extent in filled(live).values())
    hidden = unseen_partitions(live)
    loses = bool(by_time or over or hidden or sizes_hidden)
    records = records_of(live) if over or sizes_hidden else sum(end - start for start, end in by_time.values())
    names = sooner(change)
    groups = group_effects(evidence.groups, change.name, by_time)
    yield Consequence(
        kind="earlier-roll",
        weight=weight_of(change, Allowance.SHRINK_RETENTION) if loses else Severity.NOTE,
        message=f"{goes(names, change.before, after)}, so that segments roll sooner: "
        f"{at_most(records, 'record')} of {records_of(live):,} that "
        "the retention no longer protects, and that a segment still holds, are deleted",
        because=[
            *unseen(live),
            *([f"{count(sum(over.values()), 'byte')} above retention.bytes are held by large segments"] * bool(over)),
            *(["the sizes of the logs could not be seen (Describe on Cluster)"] * sizes_hidden),
            *readers(evidence, groups),
        ],
        measured="offsets asked of the brokers by time, and bytes of the leaders' logs",
        remedy=remedy_of(change, Allowance.SHRINK_RETENTION, "keep the segments as they are") if loses else "",
        evidence={
            "records": records,
            "bytes": None if sizes_hidden else sum(over.values()),
            "partitions not seen": len(hidden),
        },
        groups=groups,
        place=change.at("config", names[0]),
    )


def sooner(change: TopicChange) -> list[str]:
    """Return the settings of which the change makes segments roll sooner."""
    if change.before is None or change.after is None:
        return []
    before, after = change.before.config, change.after.config
    return [
        name
        for name in SETTINGS
        if (raised if EFFECTS[name].risk is SettingRisk.HIGHER else lowered)(name, before.get(name), after.get(name))
    ]
