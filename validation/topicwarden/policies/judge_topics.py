"""Apply the rules to topics from any source (YAML, Pulumi's inputs, or a live cluster), and to declared access."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.access import DeclaredAccess
from topicwarden.model.problem import Level, Location
from topicwarden.model.topic import Topic
from topicwarden.policies.expressions import activation
from topicwarden.policies.policy import Policy, RuleBlock, StackPolicy
from topicwarden.policies.rule import AccessViolation, RuleViolation
from topicwarden.policies.rules import ACCESS_RULES, RULES, STACK_RULES
from topicwarden.policies.topic_view import view
from topicwarden.policies.waivers import WaiverEntry, WaiverIndex


@dataclass(frozen=True)
class RuleResult:
    """A violation of a rule by one topic, or by a whole stack or a file below ``access/`` if ``topic`` is None.

    ``path`` is the position in the topic, as in ``RuleViolation.path``. ``location`` is set instead if the error is in
    a policy file, or in the declaration of access. ``waiver`` is the waiver that hides the violation. ``applied`` are
    all waivers that changed the result. ``default`` is as in ``RuleViolation``.
    """

    rule: str
    level: Level
    topic: str | None
    path: tuple[str, ...]
    message: str
    location: Location | None = None
    waiver: WaiverEntry | None = None
    applied: tuple[WaiverEntry, ...] = ()
    default: str = ""


def judge_topics(topics: Sequence[Topic], policy: Policy, stack: str) -> Iterator[RuleResult]:
    """Yield every violation by the topics of ``stack``, including waived ones.

    ``topics`` must be all topics of the stack, because stack rules need them. A live topic should contain only the
    settings that are set on the topic itself, so that no default value is reported as a violation.
    """
    return TopicJudge(policy).judge(topics, stack)


def judge_access(access: DeclaredAccess, topics: Sequence[Topic], policy: Policy, stack: str) -> Iterator[RuleResult]:
    """Yield every violation by the access of ``stack``, including waived ones. ``topics`` must be all of its topics."""
    stack_policy, by_name = policy.for_stack(stack), {topic.name: topic for topic in topics}
    for name, rule in ACCESS_RULES.items():
        blocks = stack_policy.rules.get(name, ())
        for block in blocks:
            if block.level is None:
                continue
            for each in rule.judge_access(access, topics, block.placed.settings, stack_policy.brokers):
                topic = by_name.get(each.topic or "")
                if _matching_block(blocks, topic) is block:
                    waiver = _access_waiver(name, each, topic, stack_policy.waiver_index)
                    applied = (waiver,) if waiver else ()
                    yield RuleResult(name, block.level, each.topic, (), each.message, each.location, waiver, applied)


def _access_waiver(
    rule: str, violation: AccessViolation, topic: Topic | None, waivers: WaiverIndex
) -> WaiverEntry | None:
    if topic is not None:
        return _waiver(rule, topic, waivers)
    file = violation.location.file
    return next((each for each in waivers.candidates(rule, file) if each.covers_file(file)), None)


class TopicJudge:
    """Apply the rules to several stacks. A topic that is equal on stacks with equal rules is judged only once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._rule_sets: list[_RuleSet] = []
        self._cache: dict[str, tuple[Topic, _RuleSet, tuple[RuleResult, ...]]] = {}

    def judge(self, topics: Sequence[Topic], stack: str) -> Iterator[RuleResult]:
        """Yield every violation by ``topics``, which must be all topics of ``stack``, including waived ones."""
        stack_policy = self._policy.for_stack(stack)
        rule_set = self._rule_set(stack_policy)
        for topic in topics:
            cached = self._cache.get(topic.name)
            if cached and cached[1] is rule_set and cached[0] == topic:
                results = cached[2]
            else:
                results = tuple(rule_set.results(topic))
                self._cache[topic.name] = topic, rule_set, results
            for result in results:
                yield _with_waiver(result, topic, stack_policy.waiver_index)
        yield from _stack_results(topics, stack_policy)

    def _rule_set(self, stack_policy: StackPolicy) -> _RuleSet:
        key = stack_policy.comparison_key
        rule_set = next((each for each in self._rule_sets if each.stack_policy.comparison_key == key), None)
        if rule_set is None:
            self._rule_sets.append(rule_set := _RuleSet(stack_policy))
        return rule_set


class _RuleSet:
    """The rules of one or more stacks with equal rules, and a cache of their results for topics of equal shape.

    The shape of a topic is everything that rules with ``SHAPE_ONLY`` read: partitions, replicas, config and contents.
    """

    def __init__(self, stack_policy: StackPolicy) -> None:
        self.stack_policy = stack_policy
        active = {name: blocks for name, blocks in stack_policy.rules.items() if name in RULES}
        by_shape = {name for name, blocks in active.items() if RULES[name].SHAPE_ONLY and blocks[0].matches is None}
        self._by_shape = [(name, blocks) for name, blocks in active.items() if name in by_shape]
        self._by_topic = [(name, blocks) for name, blocks in active.items() if name not in by_shape]
        self._cache: dict[Any, tuple[tuple[str, Level, RuleViolation], ...]] = {}

    def results(self, topic: Topic) -> Iterator[RuleResult]:
        """Yield the violations by ``topic``, without waivers and stack rules."""
        shape = topic.partitions, topic.replication_factor, topic.contents, tuple(topic.config.items())
        shared = self._cache.get(shape)
        if shared is None:
            shared = self._cache[shape] = tuple(_violations(topic, self._by_shape, self.stack_policy.brokers))
        for name, level, violation in (*shared, *_violations(topic, self._by_topic, self.stack_policy.brokers)):
            yield RuleResult(name, level, topic.name, violation.path, violation.message, default=violation.default)
        if self.stack_policy.expressions:
            yield from _expression_results(topic, self.stack_policy)


def _violations(
    topic: Topic, rules: Iterable[tuple[str, tuple[RuleBlock, ...]]], brokers: BrokerSettings
) -> Iterator[tuple[str, Level, RuleViolation]]:
    for name, blocks in rules:
        block = _matching_block(blocks, topic)
        if block is not None and block.level is not None:
            for violation in RULES[name].judge(topic, block.placed.settings, brokers):
                yield name, _milder(block.level, violation.level), violation


def _expression_results(topic: Topic, stack_policy: StackPolicy) -> Iterator[RuleResult]:
    fields = view(topic, stack_policy.brokers, stack_policy.required_fields)
    prepared = activation(fields)
    for compiled, level, matches in stack_policy.expressions:
        if matches is not None and not matches(topic):
            continue
        outcome = compiled.judge(prepared, _keys(fields))
        name = compiled.expression.id
        if isinstance(outcome, str):
            yield RuleResult(name, level, topic.name, ("topic",), outcome)
        elif outcome:
            part, error = outcome
            message = f"{part} cannot be evaluated: {error}"
            yield RuleResult(name, Level.ERROR, topic.name, (), message, compiled.locations[part])


def _keys(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of ``fields`` and of all mappings in it."""
    for name, value in fields.items():
        yield str(name)
        if isinstance(value, Mapping):
            yield from _keys(value)


def _stack_results(topics: Iterable[Topic], stack_policy: StackPolicy) -> Iterator[RuleResult]:
    for name, rule in STACK_RULES.items():
        for block in stack_policy.rules.get(name, ()):
            if block.level is None:
                continue
            in_scope = [topic for topic in topics if block.matches is None or block.matches(topic)]
            waivers = {
                topic.name: waiver for topic in in_scope if (waiver := _waiver(name, topic, stack_policy.waiver_index))
            }
            counted = [topic for topic in in_scope if topic.name not in waivers]
            violations = list(rule.judge_stack(in_scope, block.placed.settings))
            if violations and waivers:
                remaining = list(rule.judge_stack(counted, block.placed.settings))
                yield from _block_results(name, block, remaining or violations, waivers, waived=not remaining)
            else:
                yield from _block_results(name, block, violations, {}, waived=False)


def _block_results(
    name: str, block: RuleBlock, violations: Iterable[RuleViolation], waivers: Mapping[str, WaiverEntry], waived: bool
) -> Iterator[RuleResult]:
    """Yield the results of one block of a stack rule.

    ``waivers`` are the waivers of the topics that are not counted, by topic name. ``waived`` is True if there is no
    violation without these topics.
    """
    applied = tuple(dict.fromkeys(waivers.values()))
    example = f", such as {min(waivers)}" if len(waivers) > 1 else f" ({min(waivers, default='')})"
    suffix = f"; waived topics are not counted: {len(waivers)}{example}" if waivers and not waived else ""
    for violation in violations:
        level = _milder(block.level or Level.ERROR, violation.level)
        message = violation.message + suffix
        waiver = applied[0] if waived else None
        yield RuleResult(name, level, None, violation.path, message, block.placed.location, waiver, applied)


def _matching_block(blocks: tuple[RuleBlock, ...], topic: Topic | None) -> RuleBlock | None:
    """Return the first block that applies to ``topic``, or to a file below ``access/`` if it is None."""
    matching = (block for block in blocks if block.matches is None or (topic is not None and block.matches(topic)))
    return next(matching, None)


def _milder(first: Level, second: Level) -> Level:
    return Level.WARNING if Level.WARNING in (first, second) else Level.ERROR


def _with_waiver(result: RuleResult, topic: Topic, waivers: WaiverIndex) -> RuleResult:
    waiver = _waiver(result.rule, topic, waivers)
    return replace(result, waiver=waiver, applied=(waiver,)) if waiver else result


def _waiver(rule: str, topic: Topic, waivers: WaiverIndex) -> WaiverEntry | None:
    return next((waiver for waiver in waivers.candidates(rule, topic.name) if waiver.covers(rule, topic)), None)
