"""Tombstones go sooner: `delete.retention.ms` is lowered on a compacted topic.

It counts from the first cleaning that meets a tombstone (KIP-534). A reader that is further behind than that never
learns of the deletion.
"""

from collections.abc import Iterable

from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.topic import Allowance
from topicwarden.plan.plan_evidence import PlanEvidence, RequiredEvidence, filled
from topicwarden.plan.required_allowance import remedy_of, unseen, unseen_partitions, weight_of
from topicwarden.plan.setting_effects import lowered
from topicwarden.plan.topic_change import TopicChange
from topicwarden.plan.wording import UNSEEN_GROUPS, at_most, group_effects, listed, records_of, times

AVOIDABLE = True
SETTING = "delete.retention.ms"


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    before, after = change.before, change.after
    if change.live is None or before is None or after is None or not (before.compacted and after.compacted):
        return None
    if not lowered(SETTING, before.config.get(SETTING), after.config.get(SETTING)):
        return None
    return RequiredEvidence(times=frozenset({_horizon(change, now)}), groups=True, tail=True)


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    live, tail = change.live, evidence.tail
    assert live and change.before and change.after
    old = evidence.below(live, _horizon(change, evidence.now))
    going = {number: (extent.start, old[number]) for number, extent in filled(live).items()}
    behind = group_effects(evidence.groups, change.name, going)
    names = sorted({effect.group for effect in behind})
    most = tail.tombstones if tail and tail.whole else records_of(live)
    hidden = unseen_partitions(live)
    loses = bool(most or hidden)
    yield Consequence(
        kind="tombstones",
        weight=weight_of(change, Allowance.COMPACT) if loses else Severity.NOTE,
        message=f"{SETTING} goes from {times(change.before.number(SETTING))} to {times(change.after.number(SETTING))}: "
        f"{at_most(most, 'tombstone')} may be removed sooner; "
        + (
            f"{listed(names)} lag further behind than that, and may never learn of deletions"
            if behind
            else "no visible group that has committed offsets is further behind than that"
        ),
        because=[
            *unseen(live),
            *([] if evidence.groups_complete else [UNSEEN_GROUPS]),
            "a tombstone goes that long after the cleaning that first met it",
        ],
        measured="committed offsets against the offset that was written before the new time"
        + ("; all records were read" if tail and tail.whole else "; not all records were read, any may be a tombstone"),
        remedy=remedy_of(
            change,
            Allowance.COMPACT,
            "let the groups catch up first, or let them read the topic from its start afterwards"
            if behind
            else "keep the time",
        )
        if loses
        else "",
        evidence={
            "tombstones": most,
            "groups_behind": len(names) if names or evidence.groups_complete else None,
            "partitions not seen": len(hidden),
        },
        groups=behind,
        place=change.at("config", SETTING),
    )


def _horizon(change: TopicChange, now: int) -> int:
    assert change.after
    return now - (change.after.number(SETTING) or 0)
