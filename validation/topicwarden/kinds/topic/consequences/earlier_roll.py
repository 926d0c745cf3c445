"""Segments roll sooner on a topic with retention, so records that a large or old segment protected are deleted.

Kafka deletes whole segments. Expired records, and bytes above ``retention.bytes``, stay as long as their segment has a
younger record, or is too large to be deleted. With smaller segments they are deleted after the next roll.
Source: ``UnifiedLog.deleteOldSegments``, ``LogSegment.shouldRoll``.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.consequences.retention_cut import (
    bytes_over,
    size_limit,
    unsized_partitions,
    unsized_reason,
)
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence, non_empty
from topicwarden.kinds.topic.loss_severity import remedy_of, severity_of, unseen_partitions, unseen_reasons
from topicwarden.kinds.topic.setting_effects import EFFECTS, SettingRisk
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.topic import AllowedChange
from topicwarden.model.units import size_text
from topicwarden.plan.consequence_text import at_most_of, changes_text, group_effects, reader_reasons, records_of

AVOIDABLE = True
SETTINGS = tuple(name for name, effect in EFFECTS.items() if "earlier-roll" in effect.consequence)


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    if change.live is None or not settings_that_roll_sooner(change) or change.after is None:
        return None
    retention, limit = change.after.retention_time, size_limit(change.after)
    if retention is None and limit is None:
        return None
    times = frozenset() if retention is None else frozenset({now - retention})
    return RequiredEvidence(times, groups=True, use=True)


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    live, after = change.live, change.after
    assert live and after and change.before
    retention, limit = after.retention_time, size_limit(after)
    expired = evidence.offsets_before(live, evidence.now - retention) if retention is not None else {}
    by_time = {
        number: (extent.start, expired[number])
        for number, extent in non_empty(live).items()
        if expired.get(number, extent.start) > extent.start
    }
    excess_bytes = bytes_over(live, limit) if limit is not None else {}
    sizes_hidden = limit is not None and bool(unsized_partitions(live))
    hidden = unseen_partitions(live)
    loses = bool(by_time or excess_bytes or hidden or sizes_hidden)
    records = records_of(live) if excess_bytes or sizes_hidden else sum(end - start for start, end in by_time.values())
    names = settings_that_roll_sooner(change)
    groups = group_effects(evidence.groups, change.name, by_time)
    yield Consequence(
        kind="earlier-roll",
        severity=severity_of(change, AllowedChange.SHRINK_RETENTION) if loses else Severity.NOTE,
        message=f"{changes_text(names, change.before, after)}, so segments roll sooner: "
        f"{at_most_of(records, records_of(live), 'record')} "
        f"that the retention no longer protects, and that {'are' if records > 1 else 'is'} still in a segment, "
        f"{'are' if records > 1 else 'is'} deleted",
        because=[
            *unseen_reasons(live),
            *(
                [f"{size_text(sum(excess_bytes.values()))} above retention.bytes are in large segments"]
                * bool(excess_bytes)
            ),
            *([f"the sizes of the logs are not known: {unsized_reason(live, evidence.snapshot)}"] * sizes_hidden),
            *reader_reasons(evidence, change.name, groups),
        ],
        measured="offsets by time from the brokers, and bytes of the leaders' logs",
        remedy=remedy_of(change, AllowedChange.SHRINK_RETENTION, "keep the segments as they are") if loses else "",
        evidence={
            "records": records,
            "bytes": None if sizes_hidden else sum(excess_bytes.values()),
            "partitions not seen": len(hidden),
        },
        groups=groups,
        location=change.at("config", names[0]),
    )


def settings_that_roll_sooner(change: TopicChange) -> list[str]:
    """Return the settings whose change makes segments roll sooner."""
    return [
        name
        for name in SETTINGS
        if (change.raised(name) if EFFECTS[name].risk is SettingRisk.HIGHER else change.lowered(name))
    ]
