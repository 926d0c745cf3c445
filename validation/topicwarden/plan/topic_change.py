"""Declared, deployed and live, side by side: what `pulumi up` would do with each topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from topicwarden.kafka.snapshot import LiveTopic, Snapshot
from topicwarden.kafka.throttle_admin import REPLICAS
from topicwarden.model.finding import FindingLocation
from topicwarden.model.planned_change import Action, Setting
from topicwarden.model.problem import Location
from topicwarden.model.topic import Allowance, Topic
from topicwarden.plan.deployed_stack import DeployedStack, DeployedTopic, DuplicateResource
from topicwarden.plan.effective_defaults import defaults_in_force
from topicwarden.plan.setting_effects import riskiest, safest
from topicwarden.specs.resolve import Declaration


@dataclass(frozen=True)
class TopicChange:
    """One topic that is not the same everywhere.

    ``before`` is the topic with the settings in force, ``after`` the topic as a deploy would leave it; each is None
    where there is no such topic, and where the brokers do not tell the settings in force. Where a change leaves a
    setting to the brokers, or takes it from them, and brokers differ, the two differ the most. ``permitted`` are the
    destructive changes that are allowed today, ``duplicates`` further resources of the topic in Pulumi's state, and
    ``edited`` tells whether the YAML has changed since the last deploy.
    """

    name: str
    action: Action
    declaration: Declaration | None
    deployed: DeployedTopic | None
    live: LiveTopic | None
    before: Topic | None
    after: Topic | None
    settings: tuple[Setting, ...] = ()
    permitted: frozenset[Allowance] = frozenset()
    duplicates: tuple[DuplicateResource, ...] = ()
    edited: bool = True

    def permits(self, allowance: Allowance) -> bool:
        return allowance in self.permitted

    def at(self, *path: str) -> FindingLocation | None:
        """Return the line of YAML that has ``path``; the last known file of a topic that no YAML declares any more."""
        if self.declaration is not None:
            return place_of(self.declaration.places.at(path))
        if self.deployed is not None and self.deployed.file is not None:
            return FindingLocation(file=self.deployed.file, line=1, column=1)
        return None


def place_of(location: Location) -> FindingLocation:
    return FindingLocation(file=location.file, line=location.line, column=location.column)


def changes(
    declarations: Iterable[Declaration], deployed: DeployedStack, snapshot: Snapshot
) -> tuple[TopicChange, ...]:
    """Return what differs, sorted by name; topics that are neither declared nor deployed are left out."""
    declared = {held.topic.name: held for held in declarations}
    names = sorted({*declared, *deployed.topics, *deployed.duplicates})
    found = (_change(name, declared.get(name), deployed, snapshot) for name in names)
    return tuple(change for change in found if change is not None)


def _change(name: str, held: Declaration | None, stack: DeployedStack, snapshot: Snapshot) -> TopicChange | None:
    live, deployed, duplicates = snapshot.topics.get(name), stack.topics.get(name), stack.duplicates.get(name, ())
    today = snapshot.day
    if held is None:
        permitted = deployed.declared.allowed(today) if deployed and deployed.declared else frozenset()
        before = live.topic if live and live.sources else None
        return TopicChange(name, Action.DELETE, None, deployed, live, before, None, (), permitted, duplicates)
    known = deployed
    if deployed is not None and added_by_hand(held.topic, deployed, live):
        known = replace(deployed, partitions=held.topic.partitions)
    settings = tuple(_settings(held, known, live))
    action = Action.DELETE if duplicates else _action(held.topic, known, live, settings)
    if action is None:
        return None
    before, after = _in_force(held.topic, live, snapshot) if live else (None, held.topic)
    permitted = held.topic.allowed(today)
    edited = deployed is None or _shape(deployed.declared or deployed) != _shape(held.topic)
    return TopicChange(name, action, held, deployed, live, before, after, settings, permitted, duplicates, edited)


def added_by_hand(declared: Topic, deployed: DeployedTopic | None, live: LiveTopic | None) -> bool:
    """Return whether the cluster has the declared partitions, and Pulumi's state does not know of all of them yet.

    Somebody added them by hand, and declared them after that. Pulumi would add them once more, which Kafka refuses
    (INVALID_PARTITIONS): the deploy leaves them, and the next refresh writes them into the state.
    """
    return (
        deployed is not None and live is not None and deployed.partitions < declared.partitions == live.topic.partitions
    )


def _shape(topic: Topic | DeployedTopic) -> tuple[int, dict[str, str]]:
    return topic.partitions, dict(topic.config)


def _action(
    declared: Topic, deployed: DeployedTopic | None, live: LiveTopic | None, settings: tuple[Setting, ...]
) -> Action | None:
    if deployed is None:
        return Action.CREATE if live is None else Action.ADOPT
    if declared.partitions < max(deployed.partitions, live.topic.partitions if live else 0):
        return Action.RECREATE
    if any(setting.declared != setting.deployed for setting in settings if setting.name != "replication_factor"):
        return Action.UPDATE
    if live is None:
        return Action.DRIFT
    differing = {setting.name for setting in settings}
    return Action.DRIFT if differing - {"replication_factor"} else Action.MOVE if differing else None


def _settings(held: Declaration, deployed: DeployedTopic | None, live: LiveTopic | None) -> Iterable[Setting]:
    """What differs, in a fixed order. A setting that only the broker has is not one of the topic's."""
    declared = _columns(held.topic.partitions, held.topic.replication_factor, held.topic.config)
    state = _in_state(held.topic, deployed) if deployed else {}
    on_topic = _on_topic(live) if live else {}
    told = live is not None and bool(live.sources)
    for name in (*("partitions", "replication_factor"), *sorted({*declared, *state, *on_topic} - _COUNTS)):
        path = (name,) if name in _COUNTS else ("config", name)
        seen = on_topic.get(name)
        if live is not None and seen is None:
            seen = live.topic.config.get(name)
        wanted, had = declared.get(name), state.get(name)
        held_live = on_topic.get(name) if wanted is None else seen
        known = told or (live is not None and name in _COUNTS)
        # Compared as text, as Pulumi does: another spelling of the same is written, too.
        if wanted == had and (wanted == held_live if known else live is not None):
            continue
        yield Setting(
            name=name,
            declared=wanted,
            deployed=had,
            live=seen,
            source=live.sources.get(name) if live else None,
            place=place_of(held.places.at(path)),
        )


_COUNTS = frozenset({"partitions", "replication_factor"})


def _columns(partitions: int, replication_factor: int, config: Mapping[str, str]) -> dict[str, str]:
    return {"partitions": str(partitions), "replication_factor": str(replication_factor), **config}


def _in_state(declared: Topic, deployed: DeployedTopic) -> dict[str, str]:
    # A refresh while replicas move reads a throttle into the state. A deploy leaves the throttle.
    own = {name: value for name, value in deployed.config.items() if name not in REPLICAS or name in declared.config}
    return _columns(deployed.partitions, deployed.replication_factor, own)


def _on_topic(live: LiveTopic) -> dict[str, str]:
    # A throttle is set while replicas are moved, and is no one's drift.
    own = {name: value for name, value in live.own_config.items() if name not in REPLICAS}
    return _columns(live.topic.partitions, live.topic.replication_factor, own)


def _in_force(declared: Topic, live: LiveTopic, snapshot: Snapshot) -> tuple[Topic | None, Topic | None]:
    """Return the topic with every setting in force, now and after a deploy; None where the brokers do not tell."""
    if not live.sources:
        return None, None
    own, now, then = live.own_config, dict[str, str](), dict[str, str]()
    for name in {*live.topic.config, *declared.config}:
        shown = {live.topic.config[name]} if name in live.topic.config and name not in own else set()
        known = defaults_in_force(snapshot, name) or shown
        had, gets = own.get(name), declared.config.get(name)
        if had is None and gets is None:
            now[name] = then[name] = riskiest(name, known)
            continue
        if had is not None or known:
            now[name] = had if had is not None else safest(name, known)
        if gets is not None or known:
            then[name] = gets if gets is not None else riskiest(name, known)
    return replace(live.topic, config=dict(sorted(now.items()))), replace(declared, config=dict(sorted(then.items())))
