"""A topic is deleted, or deleted and created again: all its records are lost.

Kafka cannot remove partitions or rename a topic. So fewer partitions, or a new name, mean a deletion and a creation. A
deletion takes two merges: first deploy `allow: [{change: delete, until: DATE}]`, then remove the YAML. Pulumi's state
records what the last deployed YAML allowed.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence, non_empty
from topicwarden.kinds.topic.loss_severity import remedy_of, unseen_partitions, unseen_reasons
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import Action, Consequence, PartitionEffect, Severity
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.consequence_text import UNSEEN_GROUPS, bytes_of, contents_text, group_effects, records_of, shorten

AVOIDABLE = True
_UNDECLARED = "no YAML declares it any more, so the topic would be deleted; "
_DESTROYED = "`topicwarden destroy` deletes the topic; "


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    if change.live is None or change.action not in {Action.DELETE, Action.RECREATE} or change.duplicates:
        return None
    if not change.owned:
        return None
    return RequiredEvidence(groups=True, use=True)


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    live = change.live
    assert live
    everything = {partition: (extent.start, extent.end) for partition, extent in non_empty(live).items()}
    active = [group for group in evidence.groups if group.members]
    recreated = change.action is Action.RECREATE
    refused = not change.allows(AllowedChange.RECREATE if recreated else AllowedChange.DELETE) or _unknown_to_pulumi(
        change
    )
    yield Consequence(
        kind="destroyed",
        severity=Severity.REFUSED if refused else Severity.DANGER,
        message=f"{_cause(change)}{contents_text(live)} would be lost",
        because=[*unseen_reasons(live), *_reasons(change, evidence, [group.name for group in active])],
        measured="offsets and log sizes of the leaders"
        + ("; at most, because compaction and transactions leave gaps" if everything else ""),
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
            for partition, extent in sorted(non_empty(live).items())
        ],
        groups=group_effects(evidence.groups, change.name, everything),
        location=change.at("partitions"),
    )


def _all_described(evidence: PlanEvidence) -> bool:
    return evidence.groups_complete and all(group.members is not None for group in evidence.groups)


def _unknown_to_pulumi(change: TopicChange) -> bool:
    """Return whether only the cluster has more partitions than declared, because somebody added them by hand.

    Pulumi compares the YAML with its state, so it would not create the topic again, whatever the YAML allows.
    """
    if change.action is not Action.RECREATE or change.deployed is None or change.declaration is None:
        return False
    return change.deployed.partitions <= change.declaration.topic.partitions


def _cause(change: TopicChange) -> str:
    if change.action is Action.RECREATE:
        return _fewer_partitions_text(change)
    return _DESTROYED if change.destroying else _UNDECLARED


def _fewer_partitions_text(change: TopicChange) -> str:
    assert change.live and change.after
    before = max(change.live.topic.partitions, change.deployed.partitions if change.deployed else 0)
    return (
        f"lowering partitions from {before} to {change.after.partitions} would delete the topic and create it again; "
    )


def _reasons(change: TopicChange, evidence: PlanEvidence, active: list[str]) -> Iterable[str]:
    if not evidence.groups_complete:
        yield UNSEEN_GROUPS
    if evidence.groups:
        names = [group.name for group in evidence.groups]
        yield f"{counted(len(names), 'consumer group')} read it: {shorten(names)}"
    if active:
        yield f"consumer groups with active members: {shorten(active)}"
    if _unknown_to_pulumi(change):
        assert change.live and change.deployed
        yield (
            f"the cluster has {counted(change.live.topic.partitions, 'partition')}, Pulumi's state "
            f"{change.deployed.partitions}: partitions were added since, and Pulumi only sees them after a refresh"
        )
    yield from _by_brokers(change, evidence)
    expired = change.expired(AllowedChange.DELETE, evidence.snapshot.day)
    if change.action is Action.DELETE and expired and not change.allows(AllowedChange.DELETE):
        yield f"the YAML allowed its deletion until {expired} only"
    if change.action is Action.DELETE and evidence.created:
        yield (
            f"the same deploy creates {shorten(evidence.created)}; if that is its new name: Kafka cannot rename a "
            "topic, and the records do not move to the new topic"
        )


def _by_brokers(change: TopicChange, evidence: PlanEvidence) -> Iterable[str]:
    """Yield why the brokers may refuse the deletion, or have the topic again afterwards.

    Controllers decide whether topics are deleted, and report no settings. So this is no proof, and refuses nothing.
    """
    configs = evidence.snapshot.broker_configs.values()
    if any(config.get(_DELETES) == "false" for config in configs):
        yield f"{_DELETES} is false on the brokers: if it is on the controllers, too, Kafka refuses the deletion"
    if any(config.get(_CREATES) == "true" for config in configs):
        effect = "and this deploy fails" if change.action is Action.RECREATE else "empty"
        yield (
            f"{_CREATES} is true: a client that still uses the topic creates it again, with the brokers' settings, "
            f"{effect}; stop its clients first"
        )


_DELETES, _CREATES = "delete.topic.enable", "auto.create.topics.enable"


def _remedy(change: TopicChange, refused: bool) -> str:
    if not refused:
        return ""
    if change.action is Action.RECREATE:
        assert change.live
        partitions = counted(change.live.topic.partitions, "partition")
        instead = f"declare {partitions}, or move to a new topic"
        if _unknown_to_pulumi(change):
            instead = f"run `topicwarden refresh`, and declare {partitions} or deploy again"
            return (
                instead if change.allows(AllowedChange.RECREATE) else remedy_of(change, AllowedChange.RECREATE, instead)
            )
        return remedy_of(change, AllowedChange.RECREATE, instead)
    if change.destroying:
        return f"write {AllowedChange.DELETE.line} into its YAML and deploy that first"
    return (
        f"restore its YAML; to delete the topic, first deploy it with {AllowedChange.DELETE.line}, then remove the YAML"
    )
