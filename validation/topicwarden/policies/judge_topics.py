"""What the rules have to say of topics, wherever these come from: YAML, Pulumi's inputs, a live cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from topicwarden.model.problem import Level, Location
from topicwarden.model.topic import Topic
from topicwarden.policies.expressions import activation
from topicwarden.policies.policy import Policy, RuleBlock, StackPolicy
from topicwarden.policies.rule import RuleViolation
from topicwarden.policies.rules import RULES, STACK_RULES
from topicwarden.policies.topic_view import view
from topicwarden.policies.waivers import PlacedWaiver
from topicwarden.specs.broker_settings import BrokerSettings


@dataclass(frozen=True)
class RuleResult:
    """What a rule says of a topic, or (``topic`` None) of a whole stack.

    ``path`` is where in the topic, as ``RuleViolation.path``; ``place`` is given where the fault lies in a policy file
    instead. ``waiver`` is the one that lets it off; ``applied`` are all that changed the outcome.
    """

    rule: str
    level: Level
    topic: str | None
    path: tuple[str, ...]
    message: str
    place: Location | None = None
    waiver: PlacedWaiver | None = None
    applied: tuple[PlacedWaiver, ...] = ()


def judge_topics(topics: Sequence[Topic], policy: Policy, stack: str) -> Iterator[RuleResult]:
    """Every judgement of a stack's topics, the waived ones too. Rules of a whole stack need all its topics.

    Of a live topic give the configs that are set on it: what only holds by default is nobody's mistake.
    """
    return TopicJudge(policy).of(topics, stack)


class TopicJudge:
    """Judges stack after stack; a topic that is the same on stacks with the same rules is judged once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._bases: list[_Basis] = []
        self._known: dict[str, tuple[Topic, _Basis, tuple[RuleResult, ...]]] = {}

    def of(self, topics: Sequence[Topic], stack: str) -> Iterator[RuleResult]:
        """Every judgement of the topics, which are all those of the stack."""
        ruling = self._policy.of(stack)
        basis = self._basis(ruling)
        for topic in topics:
            known = self._known.get(topic.name)
            if known and known[1] is basis and known[0] == topic:
                judged = known[2]
            else:
                judged = tuple(basis.of_topic(topic))
                self._known[topic.name] = topic, basis, judged
            for judgement in judged:
                yield _waived(judgement, topic, ruling.waivers)
        yield from _of_stack(topics, ruling)

    def _basis(self, ruling: StackPolicy) -> _Basis:
        known = next((each for each in self._bases if each.ruling.basis == ruling.basis), None)
        if known is None:
            self._bases.append(known := _Basis(ruling))
        return known


class _Basis:
    """The rules of one stack, or of several that are alike, and what they said of topics of one shape."""

    def __init__(self, ruling: StackPolicy) -> None:
        self.ruling = ruling
        held = {name: blocks for name, blocks in ruling.rules.items() if name in RULES}
        by_shape = {name for name, blocks in held.items() if RULES[name].SHAPE_ONLY and blocks[0].matches is None}
        self._by_shape = [(name, blocks) for name, blocks in held.items() if name in by_shape]
        self._single = [(name, blocks) for name, blocks in held.items() if name not in by_shape]
        self._shapes: dict[Any, tuple[tuple[str, Level, RuleViolation], ...]] = {}

    def of_topic(self, topic: Topic) -> Iterator[RuleResult]:
        shape = topic.partitions, topic.replication_factor, topic.contents, tuple(topic.config.items())
        shared = self._shapes.get(shape)
        if shared is None:
            shared = self._shapes[shape] = tuple(_complaints(topic, self._by_shape, self.ruling.brokers))
        for name, level, complaint in (*shared, *_complaints(topic, self._single, self.ruling.brokers)):
            yield RuleResult(name, level, topic.name, complaint.path, complaint.message)
        if self.ruling.expressions:
            yield from _of_expressions(topic, self.ruling)


def _complaints(
    topic: Topic, rules: Iterable[tuple[str, tuple[RuleBlock, ...]]], brokers: BrokerSettings
) -> Iterator[tuple[str, Level, RuleViolation]]:
    for name, blocks in rules:
        block = _block(blocks, topic)
        if block is not None and block.level is not None:
            for complaint in RULES[name].judge(topic, block.held.settings, brokers):
                yield name, _lighter(block.level, complaint.level), complaint


def _of_expressions(topic: Topic, ruling: StackPolicy) -> Iterator[RuleResult]:
    fields = view(topic, ruling.brokers, ruling.needs)
    seen = activation(fields)
    for compiled, level, matches in ruling.expressions:
        if matches is not None and not matches(topic):
            continue
        found = compiled.judge(seen, _keys(fields))
        name = compiled.expression.id
        if isinstance(found, str):
            yield RuleResult(name, level, topic.name, ("topic",), found)
        elif found:
            part, error = found
            message = f"{part} cannot be evaluated: {error}"
            yield RuleResult(name, Level.ERROR, topic.name, (), message, compiled.places[part])


def _keys(fields: Mapping[str, Any]) -> Iterator[str]:
    for name, value in fields.items():
        yield str(name)
        if isinstance(value, Mapping):
            yield from _keys(value)


def _of_stack(topics: Iterable[Topic], ruling: StackPolicy) -> Iterator[RuleResult]:
    for name, rule in STACK_RULES.items():
        for block in ruling.rules.get(name, ()):
            if block.level is None:
                continue
            within = [topic for topic in topics if block.matches is None or block.matches(topic)]
            waivers = {topic.name: waiver for topic in within if (waiver := _waiver(name, topic, ruling.waivers))}
            counted = [topic for topic in within if topic.name not in waivers]
            complaints = list(rule.judge_stack(within, block.held.settings))
            if complaints and waivers:
                remaining = list(rule.judge_stack(counted, block.held.settings))
                yield from _of_block(name, block, remaining or complaints, waivers, waived=not remaining)
            else:
                yield from _of_block(name, block, complaints, {}, waived=False)


def _of_block(
    name: str, block: RuleBlock, complaints: Iterable[RuleViolation], waivers: Mapping[str, PlacedWaiver], waived: bool
) -> Iterator[RuleResult]:
    """The judgements of one block of a stack rule. ``waivers`` has the topics that are not counted, by name."""
    applied = tuple(dict.fromkeys(waivers.values()))
    more = f", such as {min(waivers)}" if len(waivers) > 1 else f" ({min(waivers, default='')})"
    suffix = f"; waived topics are not counted: {len(waivers)}{more}" if waivers and not waived else ""
    for complaint in complaints:
        level = _lighter(block.level or Level.ERROR, complaint.level)
        message = complaint.message + suffix
        waiver = applied[0] if waived else None
        yield RuleResult(name, level, None, complaint.path, message, block.held.place, waiver, applied)


def _block(blocks: tuple[RuleBlock, ...], topic: Topic) -> RuleBlock | None:
    for block in blocks:
        if block.matches is None or block.matches(topic):
            return block
    return None


def _lighter(one: Level, other: Level) -> Level:
    return Level.WARNING if Level.WARNING in (one, other) else Level.ERROR


def _waived(judgement: RuleResult, topic: Topic, waivers: Iterable[PlacedWaiver]) -> RuleResult:
    waiver = _waiver(judgement.rule, topic, waivers)
    return replace(judgement, waiver=waiver, applied=(waiver,)) if waiver else judgement


def _waiver(rule: str, topic: Topic, waivers: Iterable[PlacedWaiver]) -> PlacedWaiver | None:
    return next((waiver for waiver in waivers if waiver.lets_off(rule, topic)), None)
