"""Declared, deployed and live, side by side: what `pulumi up` would do with each topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from topicwarden.change import Action, Setting
from topicwarden.finding import Place
from topicwarden.kafka.snapshot import LiveTopic, Snapshot
from topicwarden.kafka.throttle import REPLICAS
from topicwarden.plan.defaults import default_in_force
from topicwarden.plan.deployed import Deployed
from topicwarden.problem import Location
from topicwarden.specs.resolve import Declaration
from topicwarden.topic import Allowance, Topic


@dataclass(frozen=True)
class Change:
    """One topic that is not the same everywhere.

    ``before`` is the topic in force, ``after`` the topic as a deploy would leave it, with every setting in force;
    each is None where there is no such topic. ``place`` is where the YAML asks for it.
    """

    name: str
    action: Action
    declaration: Declaration | None
    deployed: Deployed | None
    live: LiveTopic | None
    after: Topic | None
    settings: tuple[Setting, ...]

    @property
    def before(self) -> Topic | None:
        """None also where the brokers do not tell the settings in force: then nothing is said of them."""
        return self.live.topic if self.live and self.live.sources else None

    def allows(self, allowance: Allowance) -> bool:
        return self.declaration is not None and allowance in self.declaration.topic.allow

    def at(self, *path: str) -> Place | None:
        """The line of YAML that says what stands at ``path``; None where no YAML declares the topic."""
        return place_of(self.declaration.places.at(path)) if self.declaration else None


def place_of(location: Location) -> Place:
    return Place(file=location.file, line=location.line, column=location.column)


def changes(
    declarations: Iterable[Declaration], deployed: Mapping[str, Deployed], snapshot: Snapshot
) -> tuple[Change, ...]:
    """What differs, sorted by name; topics that nobody declares and nobody deployed are none of ours."""
    declared = {held.topic.name: held for held in declarations}
    found = (_change(name, declared.get(name), deployed.get(name), snapshot) for name in sorted({*declared, *deployed}))
    return tuple(change for change in found if change is not None)


def _change(name: str, held: Declaration | None, deployed: Deployed | None, snapshot: Snapshot) -> Change | None:
    live = snapshot.topics.get(name)
    if held is None:
        return Change(name, Action.DELETE, None, deployed, live, None, ())
    settings = tuple(_settings(held, deployed, live))
    action = _action(held.topic, deployed, live, settings)
    after = _after(held.topic, live, snapshot) if live else held.topic
    return None if action is None else Change(name, action, held, deployed, live, after, settings)


def _action(
    declared: Topic, deployed: Deployed | None, live: LiveTopic | None, settings: tuple[Setting, ...]
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


def _settings(held: Declaration, deployed: Deployed | None, live: LiveTopic | None) -> Iterable[Setting]:
    """What differs, in a fixed order. A setting that only the broker has is not one of the topic's."""
    declared = _columns(held.topic.partitions, held.topic.replication_factor, held.topic.config)
    state = _columns(deployed.partitions, deployed.replication_factor, deployed.config) if deployed else {}
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


def _on_topic(live: LiveTopic) -> dict[str, str]:
    # A throttle is set while replicas are moved, and is no one's drift.
    own = {name: value for name, value in live.own_config.items() if name not in REPLICAS}
    return _columns(live.topic.partitions, live.topic.replication_factor, own)


def _after(declared: Topic, live: LiveTopic, snapshot: Snapshot) -> Topic:
    """The topic with every setting that will be in force: declared, else what holds without the topic's own."""
    dropped = {name: default_in_force(snapshot, name) for name in live.own_config if name not in declared.config}
    config = {name: value for name, value in ({**live.topic.config, **dropped}).items() if value is not None}
    return replace(declared, config={**config, **declared.config})
