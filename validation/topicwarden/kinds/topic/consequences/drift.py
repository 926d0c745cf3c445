"""Somebody changed a topic by hand: whether the deploy reverts the change.

A change of a topic writes all its declared settings, and removes those that were declared before. A topic without
other changes keeps its manual settings until `topicwarden up --refresh`. A setting that nobody ever declared stays as
it is. A manual change that stays is a danger if the YAML would have to allow the same change by name.
"""

from collections.abc import Iterable
from dataclasses import replace

from topicwarden.kafka.read.effective_defaults import effective_defaults
from topicwarden.kafka.read.snapshot import SET_ON_TOPIC
from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.consequences import (
    compaction,
    flush,
    min_insync,
    retention_cut,
    tiered_storage_off,
    unclean_election,
)
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.kinds.topic.loss_severity import unseen_partitions
from topicwarden.kinds.topic.setting_effects import EFFECTS, riskiest, safest
from topicwarden.model.planned_change import Action, Consequence, Setting, Severity
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.consequence_text import records_of, spelled

AVOIDABLE = False
_BY_REBALANCE = "replication_factor"
_LOSSES = (compaction, flush, min_insync, retention_cut, tiered_storage_off, unclean_election)
"""The rules of changes that lose something as long as they are in force.

``earlier_roll`` and ``tombstones`` are left out: most of what is deleted then was about to be deleted anyway.
"""


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    removed = change.action is Action.DELETE and (change.live is not None or change.allows(AllowedChange.DELETE))
    return RequiredEvidence() if change.deployed is not None and not removed else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    if change.name in evidence.snapshot.hidden:
        return
    if change.live is None:
        yield _missing(change) if change.action is not Action.DELETE else _missing_and_removed(change)
        return
    for setting in change.settings if change.live.sources else ():
        if setting.name == _BY_REBALANCE or setting.live in (setting.declared, setting.deployed):
            continue
        if _by_hand(setting) == setting.deployed:
            continue
        loss = _loss(setting, change, evidence) if _is_left(setting, change) else ""
        yield Consequence(
            kind="drift",
            severity=Severity.DANGER if loss else Severity.NOTE,
            message=f"{setting.name} has drifted: {_values_text(setting)}; " + _deploy_text(setting, change),
            because=[loss] if loss else [],
            remedy="declare it, if the change was intended",
            evidence={"setting": setting.name, "live": setting.live, "deployed": setting.deployed},
            location=setting.location,
        )


def _missing(change: TopicChange) -> Consequence:
    """Return the consequence for a deployed topic that is missing; a deploy that changes it would fail halfway."""
    fails = change.action is not Action.DRIFT
    return Consequence(
        kind="missing",
        severity=Severity.REFUSED if fails else Severity.DANGER,
        message="the topic was deployed, but is not on the cluster: it was deleted",
        because=["Pulumi's state still has it, so " + (_FAILS if fails else "a deploy changes nothing")],
        remedy="find out who deleted it; "
        + ("run `topicwarden refresh`, and the next deploy" if fails else "`topicwarden up --refresh`")
        + " creates it again, empty",
        location=change.at(),
    )


def _missing_and_removed(change: TopicChange) -> Consequence:
    """Return the consequence for a missing topic without YAML: the broker may only be behind, so it is refused."""
    return Consequence(
        kind="missing",
        severity=Severity.REFUSED,
        message="no YAML declares the topic any more, and the broker that answered does not know it: somebody deleted "
        "it, or the broker is behind",
        because=["its YAML did not allow `delete` when it was last deployed"],
        remedy="plan again; if somebody deleted it, `topicwarden refresh` forgets it",
        location=change.at(),
    )


_FAILS = "a deploy would try to change it, and fail after it has changed other topics"


def _by_hand(setting: Setting) -> str | None:
    """Return the value that is set on the topic itself; None if the value comes from the brokers."""
    return setting.live if setting.source in (None, SET_ON_TOPIC) else None


def _values_text(setting: Setting) -> str:
    return f"it is {spelled(setting.name, setting.live)}, deployed was {spelled(setting.name, setting.deployed)}"


def _is_left(setting: Setting, change: TopicChange) -> bool:
    """Return whether the deploy leaves a manual change."""
    if setting.declared is None and change.action is Action.RECREATE:
        return False
    return change.held or change.action is Action.DRIFT or (setting.declared is None and setting.deployed is None)


def _loss(setting: Setting, change: TopicChange, evidence: PlanEvidence) -> str:
    """Return why a manual change that stays is a loss, from the table of the guards; empty if it is none.

    It is compared with the declared value, or with the brokers' defaults. A topic without records loses none.
    """
    live, effect = change.live, EFFECTS.get(setting.name)
    assert live and change.before
    if effect is None or setting.live is None or not (records_of(live) or unseen_partitions(live)):
        return ""
    defaults = effective_defaults(evidence.snapshot, setting.name)
    if setting.declared is None and not defaults:
        return ""
    value = safest(setting.name, defaults) if setting.declared is None else setting.declared
    if riskiest(setting.name, {value, setting.live}) == riskiest(setting.name, {value}):
        return ""
    before = replace(change.before, config={**change.before.config, setting.name: value})
    by_hand = replace(change, before=before, after=change.before)
    return effect.why if any(rule.needs(by_hand, evidence.now) for rule in _LOSSES) else ""


def _deploy_text(setting: Setting, change: TopicChange) -> str:
    """Return what the deploy does with a manual change."""
    if setting.declared is None and change.action is Action.RECREATE:
        return "the new topic does not have it"
    if setting.declared is None and setting.deployed is None:
        return "the deploy leaves it, because no YAML declares it"
    if change.held:
        return "the deploy leaves it"
    if change.action is Action.DRIFT:
        effect = "removes it" if setting.declared is None else "puts it back"
        return f"the deploy leaves it, and `topicwarden up --refresh` {effect}"
    if setting.declared is None:
        return "the deploy removes it, because the YAML declared it before"
    return f"the deploy writes {spelled(setting.name, setting.declared)}"
