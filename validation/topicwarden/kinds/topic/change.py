"""Compares declared, deployed and live topics, and determines what `pulumi up` would do with each topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date

from topicwarden.kafka.read.effective_defaults import effective_defaults
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.kafka_facts.configs import definition
from topicwarden.kafka_facts.throttle_settings import REPLICAS
from topicwarden.kinds.topic.setting_effects import lowered, raised, riskiest, safest
from topicwarden.model.deployed_stack import DeployedStack, DeployedTopic, DuplicateResource
from topicwarden.model.planned_change import Action, Setting
from topicwarden.model.problem import Location
from topicwarden.model.topic import AllowedChange, Topic
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope


@dataclass(frozen=True)
class TopicChange:
    """A topic whose declaration, deployed state and live state differ.

    ``before`` is the topic with its effective settings, ``after`` is the topic as a deploy would leave it. Each is None
    if there is no such topic, or if the brokers do not report the effective settings. If a setting moves between the
    topic and brokers with different defaults, ``before`` and ``after`` have the most different of these values.
    ``allowed`` are the destructive changes that are allowed today. ``duplicates`` are further resources of the topic
    in Pulumi's state. ``edited`` is true if the YAML has changed since the last deploy. ``owned`` is false if the topic
    is outside of the stack's scope. ``held`` is true if the deploy leaves manual changes, because
    reverting them would lose data. ``destroying`` is true if the command deletes all topics of the stack.
    """

    name: str
    action: Action
    declaration: Declaration | None
    deployed: DeployedTopic | None
    live: LiveTopic | None
    before: Topic | None
    after: Topic | None
    settings: tuple[Setting, ...] = ()
    allowed: frozenset[AllowedChange] = frozenset()
    duplicates: tuple[DuplicateResource, ...] = ()
    edited: bool = True
    owned: bool = True
    held: bool = False
    destroying: bool = False

    @property
    def as_live(self) -> bool:
        """True if the topic is adopted, and each setting is on the cluster as declared: no record can be lost."""
        return self.action is Action.ADOPT and all(each.declared == each.live for each in self.settings)

    def allows(self, allowance: AllowedChange) -> bool:
        """Return whether ``allowance`` is valid today."""
        return allowance in self.allowed

    def expired(self, allowance: AllowedChange, today: date) -> date | None:
        """Return the last day on which the deployed YAML allowed ``allowance``, if that is before ``today``."""
        declared = self.deployed.declared if self.deployed else None
        ends = [each.until for each in declared.allow if each.change is allowance and each.until] if declared else []
        return max((end for end in ends if end < today), default=None)

    def changed(self, *settings: str) -> list[str]:
        """Return which of ``settings`` get another effective value; none if the brokers do not report the values."""
        return [name for name, before, after in self._values(settings) if before != after]

    def lowered(self, *settings: str) -> list[str]:
        """Return which of ``settings`` get a smaller effective value."""
        return [name for name, before, after in self._values(settings) if lowered(name, before, after)]

    def raised(self, *settings: str) -> list[str]:
        """Return which of ``settings`` get a larger effective value."""
        return [name for name, before, after in self._values(settings) if raised(name, before, after)]

    def _values(self, settings: Iterable[str]) -> list[tuple[str, str | None, str | None]]:
        if self.before is None or self.after is None:
            return []
        return [(name, self.before.config.get(name), self.after.config.get(name)) for name in settings]

    def at(self, *path: str) -> Location | None:
        """Return the YAML location of ``path``; for a topic that is no longer declared, its last known file."""
        if self.declaration is not None:
            return self.declaration.locations.at(path)
        if self.deployed is not None and self.deployed.file is not None:
            return Location(file=self.deployed.file, line=1, column=1)
        return None


def changes(
    declarations: Iterable[Declaration], deployed: DeployedStack, snapshot: Snapshot, scope: StackScope = EVERY_TOPIC
) -> tuple[TopicChange, ...]:
    """Return the topics that differ, sorted by name; topics that are neither declared nor deployed are left out."""
    declared = {declaration.topic.name: declaration for declaration in declarations}
    names = sorted({*declared, *deployed.topics, *deployed.duplicates})
    topic_changes = (_change(name, declared.get(name), deployed, snapshot) for name in names)
    return tuple(replace(change, owned=scope.owns(change.name)) for change in topic_changes if change is not None)


def _change(name: str, declaration: Declaration | None, stack: DeployedStack, snapshot: Snapshot) -> TopicChange | None:
    live, deployed, duplicates = snapshot.topics.get(name), stack.topics.get(name), stack.duplicates.get(name, ())
    today = snapshot.day
    if declaration is None:
        allowed = deployed.declared.allowed(today) if deployed and deployed.declared else frozenset()
        before = live.topic if live and live.sources else None
        return TopicChange(name, Action.DELETE, None, deployed, live, before, None, (), allowed, duplicates)
    known_state = deployed
    if deployed is not None and added_by_hand(declaration.topic, deployed, live):
        known_state = replace(deployed, partitions=declaration.topic.partitions)
    settings = tuple(_settings(declaration, known_state, live))
    action = Action.DELETE if duplicates else _action(declaration.topic, known_state, live, settings)
    if action is None or (action is Action.DRIFT and name in snapshot.hidden):
        return None  # what cannot be seen is no change by hand
    kept = _kept_settings(declaration.topic, known_state, live) if live and action is not Action.RECREATE else {}
    before, after = _effective(declaration.topic, kept, live, snapshot) if live else (None, declaration.topic)
    allowed = declaration.topic.allowed(today)
    edited = deployed is None or _deployed_values(deployed.declared or deployed) != _deployed_values(declaration.topic)
    return TopicChange(name, action, declaration, deployed, live, before, after, settings, allowed, duplicates, edited)


def added_by_hand(declared: Topic, deployed: DeployedTopic | None, live: LiveTopic | None) -> bool:
    """Return whether the cluster has the declared partitions, and Pulumi's state has fewer.

    Somebody added the partitions by hand and declared them afterwards. Pulumi would add them again, which Kafka refuses
    (INVALID_PARTITIONS). So the deploy leaves the partitions, and the next refresh writes them into the state.
    """
    return (
        deployed is not None and live is not None and deployed.partitions < declared.partitions == live.topic.partitions
    )


def _deployed_values(topic: Topic | DeployedTopic) -> tuple[int, dict[str, str]]:
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


def _settings(declaration: Declaration, deployed: DeployedTopic | None, live: LiveTopic | None) -> Iterable[Setting]:
    """Yield the settings that differ, in a fixed order. A setting that only the broker has is not a topic setting."""
    topic = declaration.topic
    declared = _values(topic.partitions, topic.replication_factor, topic.config)
    state = _in_state(topic, deployed) if deployed else {}
    on_topic = _on_topic(live) if live else {}
    config_visible = live is not None and bool(live.sources)
    for name in (*("partitions", "replication_factor"), *sorted({*declared, *state, *on_topic} - COUNTS)):
        path = (name,) if name in COUNTS else ("config", name)
        live_value = on_topic.get(name)
        if live is not None and live_value is None:
            live_value = live.topic.config.get(name)
        declared_value, deployed_value = declared.get(name), state.get(name)
        compared_value = on_topic.get(name) if declared_value is None else live_value
        if declared_value is not None and compared_value is not None and _equal(name, declared_value, compared_value):
            live_value = compared_value = declared_value
        visible = config_visible or (live is not None and name in COUNTS)
        # The state is compared as text, as Pulumi does: another spelling of the same value is written, too.
        if declared_value == deployed_value and (declared_value == compared_value if visible else live is not None):
            continue
        yield Setting(
            name=name,
            declared=declared_value,
            deployed=deployed_value,
            live=live_value,
            source=live.sources.get(name) if live else None,
            location=declaration.locations.at(path),
        )


def _equal(name: str, declared: str, live: str) -> bool:
    """Return whether Kafka takes two values for one, such as lists in another order; the provider writes neither."""
    known = definition(name)
    return known.equivalent(declared, live) if known else declared == live


COUNTS = frozenset({"partitions", "replication_factor"})
"""The settings of a topic that are no configuration; Describe shows them."""


def _values(partitions: int, replication_factor: int, config: Mapping[str, str]) -> dict[str, str]:
    return {"partitions": str(partitions), "replication_factor": str(replication_factor), **config}


def _in_state(declared: Topic, deployed: DeployedTopic) -> dict[str, str]:
    # A refresh during a move of replicas reads the throttle into the state. A deploy leaves the throttle.
    own_config = {
        name: value for name, value in deployed.config.items() if name not in REPLICAS or name in declared.config
    }
    return _values(deployed.partitions, deployed.replication_factor, own_config)


def _on_topic(live: LiveTopic) -> dict[str, str]:
    # A throttle is set while replicas move. It is not drift.
    own_config = {name: value for name, value in live.own_config.items() if name not in REPLICAS}
    return _values(live.topic.partitions, live.topic.replication_factor, own_config)


def _kept_settings(declared: Topic, deployed: DeployedTopic | None, live: LiveTopic) -> dict[str, str]:
    """Return the settings of the topic that a deploy does not touch: nobody declares them, and nobody did before."""
    before = deployed.config if deployed is not None else {}
    return {name: value for name, value in live.own_config.items() if name not in {*declared.config, *before}}


def _effective(
    declared: Topic, kept: Mapping[str, str], live: LiveTopic, snapshot: Snapshot
) -> tuple[Topic | None, Topic | None]:
    """Return the topic with all effective settings, now and after a deploy; None if the brokers do not report them."""
    if not live.sources:
        return None, None
    own_config, before, after = live.own_config, dict[str, str](), dict[str, str]()
    for name in {*live.topic.config, *declared.config}:
        inherited = {live.topic.config[name]} if name in live.topic.config and name not in own_config else set()
        known = effective_defaults(snapshot, name)
        # Brokers of another code may not report their defaults, but the topic has the values in force.
        defaults = (known or inherited) if snapshot.service.log.apache else (inherited or known)
        own_value, declared_value = own_config.get(name), declared.config.get(name, kept.get(name))
        if own_value is None and declared_value is None:
            before[name] = after[name] = riskiest(name, defaults)
            continue
        if own_value is not None or defaults:
            before[name] = own_value if own_value is not None else safest(name, defaults)
        if declared_value is not None or defaults:
            after[name] = declared_value if declared_value is not None else riskiest(name, defaults)
    return (
        replace(live.topic, config=dict(sorted(before.items()))),
        replace(declared, config=dict(sorted(after.items()))),
    )
