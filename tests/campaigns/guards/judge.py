"""Check the invariant: the last plan must predict every loss of records or durability, and the YAML must allow it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.campaigns.guards.cleanup import removable
from tests.campaigns.guards.cluster import TopicState
from tests.campaigns.guards.scenario import Command, Verb
from topicwarden.kinds.topic.setting_effects import EFFECTS, DataLoss, SettingEffect, SettingRisk, amount
from topicwarden.model.planned_change import Consequence, PlanReport, Severity
from topicwarden.model.topic import AllowedChange
from topicwarden.model.units import LONG_MAX

ALLOWED_BY: Final[Mapping[str, frozenset[AllowedChange]]] = {
    "destroyed": frozenset({AllowedChange.DELETE, AllowedChange.RECREATE}),
    "retention-cut": frozenset({AllowedChange.SHRINK_RETENTION}),
    "earlier-roll": frozenset({AllowedChange.SHRINK_RETENTION}),
    "tiered-storage-off": frozenset({AllowedChange.SHRINK_RETENTION}),
    "compaction": frozenset({AllowedChange.COMPACT}),
    "tombstones": frozenset({AllowedChange.COMPACT}),
    "unclean-election": frozenset({AllowedChange.UNCLEAN_ELECTION}),
    "min-insync": frozenset({AllowedChange.LOWER_MIN_INSYNC}),
    "replication-factor": frozenset({AllowedChange.REDUCE_REPLICAS}),
    "flush": frozenset({AllowedChange.RELAX_FLUSH}),
}
"""For a consequence of weight ``danger``, at least one of these words must be in the topic's YAML."""
_TAKES_RECORDS: Final = ("retention-cut", "earlier-roll", "tiered-storage-off", "compaction", "tombstones")


_CLEANER: Final = ("min.cleanable.dirty.ratio", "min.compaction.lag.ms", "max.compaction.lag.ms", "delete.retention.ms")
_SEGMENTS: Final = ("index.interval.bytes", "segment.bytes", "segment.index.bytes", "segment.jitter.ms", "segment.ms")


@dataclass(frozen=True)
class Before:
    """The known state before a command.

    ``allowed``: by topic, the words of the YAML in force. ``deletable``: topics whose deletion the last deployed YAML
    allows, on a day that has not passed. ``declared``: topics that have a YAML file.
    """

    topics: Mapping[str, TopicState]
    plan: PlanReport
    allowed: Mapping[str, frozenset[AllowedChange]]
    deletable: frozenset[str]
    declared: frozenset[str]


@dataclass(frozen=True)
class Prediction:
    """The maximum number of records that a topic loses according to a plan, and the number that it lost."""

    topic: str
    predicted: int
    lost: int


@dataclass(frozen=True)
class Fault:
    """One breach of the invariant. Breaches of the same nature have the same ``kind``."""

    kind: str
    topic: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.topic}: {self.detail}"


@dataclass
class Judgement:
    """The outcome of a command. ``now`` is the time after the command, in milliseconds."""

    now: int
    faults: list[Fault] = field(default_factory=list)
    predictions: list[Prediction] = field(default_factory=list)
    destroyed: int = 0
    weakened: int = 0
    """Changes that reduced durability, and were predicted and allowed."""


def judge(before: Before, command: Command, after: Mapping[str, TopicState], now: int) -> Judgement:
    """Return every breach of the invariant by ``command``, and the outcomes of the predictions."""
    judgement = Judgement(now)
    for name, was in sorted(before.topics.items()):
        now_is = after.get(name)
        if now_is is None or now_is.id != was.id:
            judgement.faults += _destroyed(name, was, now_is, before, command)
            judgement.destroyed += 1
            continue
        judgement.faults += _records(name, was, now_is, before, judgement)
        weaker = list(_weaker(was, now_is))
        silent = list(_unpermitted(name, weaker, before))
        judgement.weakened += len(weaker) - len(silent)
        judgement.faults += silent
        if _left_alone(name, command) and (dict(was.config), was.partitions.keys()) != (
            dict(now_is.config),
            now_is.partitions.keys(),
        ):
            judgement.faults.append(Fault("not-selected", name, f"`{command}` changed {_differences(was, now_is)}"))
    return judgement


def _destroyed(
    name: str, was: TopicState, now_is: TopicState | None, before: Before, command: Command
) -> Iterator[Fault]:
    records = f"{len(was.records)} records; id {was.id} became {now_is.id if now_is else 'none'}"
    predicted = _consequence(before.plan, name, "destroyed")
    allowed = before.allowed.get(name, frozenset())
    deletable = name in before.deletable or (command.runs_program and AllowedChange.DELETE in allowed)
    if command.verb is Verb.DESTROY:
        if not deletable:
            yield Fault("destroyed", name, f"`{command}` deleted it, and no deployed YAML allows that; {records}")
    elif "replace" in command.per_topic and name in command.topics:
        if name not in before.deletable and not (predicted and AllowedChange.RECREATE in allowed):
            yield Fault("replaced", name, f"`{command}` recreated it, and no deployed YAML allows that; {records}")
    elif predicted is None or predicted.severity is not Severity.DANGER:
        yield Fault("destroyed", name, f"`{command}`; the plan said {_shown(predicted)}; {records}")
    elif name in before.declared and AllowedChange.RECREATE not in allowed:
        yield Fault("destroyed", name, f"`{command}` recreated it without {AllowedChange.RECREATE.line}; {records}")
    elif name not in before.declared and name not in before.deletable:
        yield Fault(
            "destroyed",
            name,
            f"`{command}` deleted it without {AllowedChange.DELETE.line} deployed; {records}",
        )
    elif len(was.records) > (most := _bound(predicted, was)):
        yield Fault("underestimated", name, f"destroyed {len(was.records)} records, predicted {most}")


def _records(name: str, was: TopicState, now_is: TopicState, before: Before, judged: Judgement) -> Iterator[Fault]:
    by_policy = {
        (number, offset)
        for number, logs in was.replica_logs.items()
        for offset in removable(logs, was.config, judged.now)
    }
    lost = was.kept_records - now_is.records - by_policy
    found = [one for kind in _TAKES_RECORDS for one in _consequences(before.plan, name, kind)]
    dangers = [one for one in found if one.severity is Severity.DANGER]
    allowed = before.allowed.get(name, frozenset())
    covered = [one for one in dangers if ALLOWED_BY[one.kind] & allowed]
    predicted = sum(_bound(one, was) for one in covered)
    if covered and _settings_changed(was, now_is):
        judged.predictions.append(Prediction(name, min(predicted, len(was.records)), len(lost)))
    if not lost:
        return
    reported = f"{len(lost)} of {len(was.records)} records, such as {sorted(lost)[:3]}; {_differences(was, now_is)}"
    if not found:
        yield Fault("lost-silently", name, f"{reported}; the plan said nothing of it")
    elif not covered:
        yield Fault("lost-not-allowed", name, f"{reported}; the plan said {_joined(found)}; allowed {sorted(allowed)}")
    elif predicted < len(lost):
        yield Fault("underestimated", name, f"{reported}; the plan said {_joined(covered)}")


def _bound(consequence: Consequence, was: TopicState) -> int:
    """Return the maximum number of records that are lost at once according to a consequence."""
    if consequence.kind == "tombstones":
        return int(consequence.evidence.get("tombstones") or 0)
    if consequence.evidence.get("partitions not seen"):
        return len(was.records)
    return int(consequence.evidence.get("records") or 0)


@dataclass(frozen=True)
class Weakening:
    """A setting or replica count that protects records less than before."""

    what: str
    before: str
    after: str
    kinds: frozenset[str]


def _weaker(was: TopicState, now_is: TopicState) -> Iterator[Weakening]:
    """Yield everything that reduces durability or removes records sooner, even if no record is gone yet."""
    for number, state in was.partitions.items():
        replicas = now_is.partitions[number].replicas if number in now_is.partitions else ()
        if len(replicas) < len(state.replicas):
            kinds = frozenset({"replication-factor"})
            yield Weakening(f"replicas of partition {number}", str(state.replicas), str(replicas), kinds)
    for name, effect in EFFECTS.items():
        old, new = was.config.get(name), now_is.config.get(name)
        if old is None or new is None or old == new or not {DataLoss.RECORDS, DataLoss.DURABILITY} & {*effect.harms}:
            continue
        if _riskier(name, effect, old, new) and _counts(name, was, now_is):
            yield Weakening(name, old, new, frozenset(kind.strip() for kind in effect.consequence.split(",")))


def _riskier(name: str, effect: SettingEffect, old: str, new: str) -> bool:
    if effect.risk is SettingRisk.ADDED:
        return bool(_policies(new) - _policies(old))
    if effect.risk is SettingRisk.ANY:
        return new == "CreateTime"
    if effect.risk in (SettingRisk.HIGHER, SettingRisk.TRUE):
        return _size(name, new) > _size(name, old)
    return _size(name, new) < _size(name, old)


def _size(name: str, value: str) -> float:
    """Return ``value`` as a number; no log reaches the greatest long, so it is no limit."""
    return float("inf") if value == str(LONG_MAX) else amount(name, value)


def _counts(name: str, was: TopicState, now_is: TopicState) -> bool:
    """Return whether the setting affects the topic before and after the change."""
    policies = _policies(was.config["cleanup.policy"]) & _policies(now_is.config["cleanup.policy"])
    added = _policies(now_is.config["cleanup.policy"]) - policies
    replicas = min(len(state.replicas) for state in now_is.partitions.values())
    by_time, by_size = (0 <= int(now_is.config[limit]) < LONG_MAX for limit in ("retention.ms", "retention.bytes"))
    deletes, compacts = "delete" in policies, "compact" in policies
    effective = {
        "min.insync.replicas": min(int(was.config["min.insync.replicas"]), replicas)
        > min(int(now_is.config["min.insync.replicas"]), replicas),
        "unclean.leader.election.enable": replicas > 1,
        "retention.ms": deletes,
        "retention.bytes": deletes,
        "message.timestamp.type": deletes and by_time,
        "cleanup.policy": "compact" in added or by_time or by_size,
        **dict.fromkeys(_CLEANER, compacts),
        **dict.fromkeys(_SEGMENTS, compacts or (deletes and (by_time or by_size))),
    }
    return effective.get(name, True)


def _unpermitted(name: str, weaker: Iterable[Weakening], before: Before) -> Iterator[Fault]:
    allowed = before.allowed.get(name, frozenset())
    for one in weaker:
        found = [consequence for kind in one.kinds for consequence in _consequences(before.plan, name, kind)]
        reported = f"{one.what} went from {one.before} to {one.after}"
        if not found:
            yield Fault("weaker-silently", name, f"{reported}; the plan said nothing of {sorted(one.kinds)}")
        elif all(each.severity is Severity.DANGER and not _allowed(each, allowed) for each in found):
            yield Fault(
                "weaker-not-allowed", name, f"{reported}; the plan said {_joined(found)}; allowed {sorted(allowed)}"
            )


def _allowed(consequence: Consequence, allowed: Collection[AllowedChange]) -> bool:
    words = ALLOWED_BY.get(consequence.kind)
    return words is None or bool(words & {*allowed})


def _policies(value: str) -> frozenset[str]:
    return frozenset(filter(None, map(str.strip, value.split(","))))


def _left_alone(name: str, command: Command) -> bool:
    """Return whether the command's flags exclude the topic, as the program registers it."""
    if command.per_topic in ("--target", "--target-replace"):
        return name not in command.topics
    return command.per_topic == "--exclude" and not command.suffix and name in command.topics


def _settings_changed(was: TopicState, now_is: TopicState) -> bool:
    return dict(was.config) != dict(now_is.config)


def _differences(was: TopicState, now_is: TopicState) -> str:
    names = sorted({*was.config, *now_is.config})
    changed = [
        f"{name} {was.config.get(name)} -> {now_is.config.get(name)}"
        for name in names
        if was.config.get(name) != now_is.config.get(name)
    ]
    if len(was.partitions) != len(now_is.partitions):
        changed.append(f"partitions {len(was.partitions)} -> {len(now_is.partitions)}")
    return ", ".join(changed) or "no setting changed"


def _consequences(plan: PlanReport, topic: str, kind: str) -> list[Consequence]:
    return [one for each in plan.topics if each.topic == topic for one in each.consequences if one.kind == kind]


def _consequence(plan: PlanReport, topic: str, kind: str) -> Consequence | None:
    return next(iter(_consequences(plan, topic, kind)), None)


def _shown(consequence: Consequence | None) -> str:
    return "nothing of it" if consequence is None else f"{consequence.severity.value} {consequence.message}"


def _joined(consequences: Iterable[Consequence]) -> str:
    return "; ".join(f"{one.kind} ({one.severity.value}): {one.message}" for one in consequences)
