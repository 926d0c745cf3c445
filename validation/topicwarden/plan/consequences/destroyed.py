"""A topic that is deleted, or created again: everything in it is gone.

Kafka cannot take partitions away and cannot rename a topic, so that fewer partitions are a deletion and a
creation, and a new name is one too. A deletion takes two merges: `allow: [delete]` is deployed first, and only then
the YAML may be removed; Pulumi's state records what the last deployed YAML allowed.
"""

from collections.abc import Iterable

from topicwarden.change import Action, Consequence, PartitionEffect, Weight
from topicwarden.plan.change import Change
from topicwarden.plan.consequences.guard import remedy_of, unseen, unseen_partitions
from topicwarden.plan.consequences.wording import (
    UNSEEN_GROUPS,
    bytes_of,
    count,
    group_effects,
    listed,
    loss,
    records_of,
)
from topicwarden.plan.evidence import Evidence, Needs, filled
from topicwarden.topic import Allowance

_UNDECLARED = "no YAML declares it any more, so the topic would be deleted; "


def needs(change: Change, now: int) -> Needs | None:
    if change.live is None or change.action not in {Action.DELETE, Action.RECREATE} or change.duplicates:
        return None
    return Needs(groups=True)


def evaluate(change: Change, evidence: Evidence) -> Iterable[Consequence]:
    live = change.live
    assert live
    everything = {partition: (extent.start, extent.end) for partition, extent in filled(live).items()}
    active = [group for group in evidence.groups if group.members]
    recreated = change.action is Action.RECREATE
    refused = not change.permits(Allowance.RECREATE if recreated else Allowance.DELETE) or _unknown_to_pulumi(change)
    yield Consequence(
        kind="destroyed",
        weight=Weight.REFUSED if refused else Weight.DANGER,
        message=(_lowered(change) if recreated else "no YAML declares it any more, so the topic would be deleted; ")
        + f"{loss(live)} would be lost",
        because=[*unseen(live), *_because(change, evidence, [group.name for group in active])],
        measured="offsets and log sizes of the leaders; at most, as compaction and transactions leave gaps",
        remedy=_remedy(change, refused),
        evidence={
            "records": records_of(live),
            "bytes": bytes_of(live),
            "active_groups": len(active) if active or _all_described(evidence) else None,
            "partitions not seen": len(unseen_partitions(live)),
        },
        partitions=[
            PartitionEffect(
                partition=partition,
                records=extent.end - extent.start,
                bytes=extent.log_bytes,
                first_offset=extent.start,
                last_offset=extent.end - 1,
                last_timestamp=extent.latest_timestamp,
            )
            for partition, extent in sorted(filled(live).items())
        ],
        groups=group_effects(evidence.groups, change.name, everything),
        place=change.at("partitions"),
    )


def _all_described(evidence: Evidence) -> bool:
    return evidence.groups_complete and all(group.members is not None for group in evidence.groups)


def _unknown_to_pulumi(change: Change) -> bool:
    """Return whether only the cluster has more partitions than declared, as somebody added them by hand.

    Pulumi compares with its state, so that it would not create the topic again, whatever the YAML allows.
    """
    if change.action is not Action.RECREATE or change.deployed is None or change.declaration is None:
        return False
    return change.deployed.partitions <= change.declaration.topic.partitions


def _lowered(change: Change) -> str:
    assert change.live and change.after
    before = max(change.live.topic.partitions, change.deployed.partitions if change.deployed else 0)
    return (
        f"lowering partitions from {before} to {change.after.partitions} would delete the topic and create it again; "
    )


def _because(change: Change, evidence: Evidence, active: list[str]) -> Iterable[str]:
    if not evidence.groups_complete:
        yield UNSEEN_GROUPS
    if evidence.groups:
        names = [group.name for group in evidence.groups]
        yield f"{count(len(names), 'consumer group')} read it: {listed(names)}"
    if active:
        yield f"of these with active members: {listed(active)}"
    if _unknown_to_pulumi(change):
        assert change.live and change.deployed
        yield (
            f"the cluster has {change.live.topic.partitions} partitions, Pulumi's state {change.deployed.partitions}: "
            "somebody added partitions by hand, and Pulumi does not see them before a refresh"
        )
    if change.action is Action.DELETE and evidence.created:
        yield (
            f"the same deploy creates {listed(evidence.created)}; if that is its new name: Kafka renames no topic, "
            "and records do not move along"
        )


def _remedy(change: Change, refused: bool) -> str:
    if not refused:
        return ""
    if change.action is Action.RECREATE:
        assert change.live
        instead = f"declare {change.live.topic.partitions} partitions, or move to a new topic"
        if _unknown_to_pulumi(change):
            instead = f"run `pulumi refresh`, and declare {change.live.topic.partitions} partitions or deploy again"
            return instead if change.permits(Allowance.RECREATE) else remedy_of(change, Allowance.RECREATE, instead)
        return remedy_of(change, Allowance.RECREATE, instead)
    return "put its YAML back; to delete it, first deploy it with `allow: [delete]`, then remove the YAML"
