"""Tombstones are removed sooner, because `delete.retention.ms` is lowered on a compacted topic.

The time counts from the first cleaning of a tombstone (KIP-534). A reader that is further behind never sees the
deletion.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence, non_empty
from topicwarden.kinds.topic.loss_severity import remedy_of, severity_of, unseen_partitions, unseen_reasons
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.consequence_text import UNSEEN_GROUPS, at_most, changes_text, group_effects, records_of, shorten

AVOIDABLE = True
SETTING = "delete.retention.ms"


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    before, after = change.before, change.after
    if change.live is None or before is None or after is None or not (before.compacted and after.compacted):
        return None
    if not change.lowered(SETTING):
        return None
    return RequiredEvidence(times=frozenset({_horizon(change, now)}), groups=True, newest_records=True, use=True)


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    live, newest = change.live, evidence.newest_records
    assert live and change.before and change.after
    old = evidence.offsets_before(live, _horizon(change, evidence.now))
    removed = {number: (extent.start, old[number]) for number, extent in non_empty(live).items()}
    behind = group_effects(evidence.groups, change.name, removed)
    names = sorted({effect.group for effect in behind})
    tombstones = newest.tombstones if newest and newest.complete else records_of(live)
    hidden = unseen_partitions(live)
    loses = bool(tombstones or hidden)
    yield Consequence(
        kind="tombstones",
        severity=severity_of(change, AllowedChange.COMPACT) if loses else Severity.NOTE,
        message=f"{changes_text([SETTING], change.before, change.after)}: "
        f"{at_most(tombstones, 'tombstone')} may be removed sooner; "
        + (
            f"{shorten(names)} lag further behind than that, and may never see deletions"
            if behind
            else "no visible group with committed offsets is further behind than that"
        ),
        because=[
            *unseen_reasons(live),
            *([] if evidence.groups_complete else [UNSEEN_GROUPS]),
            "a tombstone is removed that long after its first cleaning",
        ],
        measured="committed offsets, compared with the offset at the new time"
        + (
            "; all records were read"
            if newest and newest.complete
            else "; not all records were read, any may be a tombstone"
            if newest
            else "; the records could not be read (Read on the topic), any may be a tombstone"
        ),
        remedy=remedy_of(
            change,
            AllowedChange.COMPACT,
            "let the groups catch up first, or let them read the topic from its start afterwards"
            if behind
            else "keep the time",
        )
        if loses
        else "",
        evidence={
            "tombstones": tombstones,
            "groups_behind": len(names) if names or evidence.groups_complete else None,
            "partitions not seen": len(hidden),
        },
        groups=behind,
        location=change.at("config", SETTING),
    )


def _horizon(change: TopicChange, now: int) -> int:
    assert change.after
    return now - (change.after.number(SETTING) or 0)
