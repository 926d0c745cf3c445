"""The content of all policy files, and the part of it that applies to one stack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.problem import Level, Location, Problem
from topicwarden.model.topic import Topic
from topicwarden.policies.expressions import CompiledExpression
from topicwarden.policies.rule import RuleSettings
from topicwarden.policies.scope import PlacedPattern
from topicwarden.policies.topic_view import TopicFields, required_fields
from topicwarden.policies.usage_policy import ContentsPolicy, CostPolicy, UsagePolicy
from topicwarden.policies.waivers import WaiverEntry, WaiverIndex
from topicwarden.specs.stacks.stack_file import StackFile

Matches: TypeAlias = Callable[[Topic], Any]


@dataclass(frozen=True)
class PlacedSettings:
    """One block of a rule's settings, and its location; None for the default settings of a rule that is always on."""

    settings: RuleSettings
    location: Location | None = None


@dataclass(frozen=True)
class RuleBlock:
    """A block of settings on one stack. ``matches`` is None if it matches every topic; ``level`` is None if off."""

    placed: PlacedSettings
    level: Level | None
    matches: Matches | None


@dataclass(frozen=True)
class StackPolicy:
    """The rules, expressions and waivers of one stack. For each rule, the first block that matches a topic applies."""

    rules: Mapping[str, tuple[RuleBlock, ...]]
    expressions: tuple[tuple[CompiledExpression, Level, Matches | None], ...]
    waivers: tuple[WaiverEntry, ...]
    brokers: BrokerSettings

    @cached_property
    def required_fields(self) -> TopicFields:
        """The fields of a topic that the expressions use."""
        expressions = (compiled.expression for compiled, _, _ in self.expressions)
        return required_fields(text for each in expressions for text in (each.when or "", each.require))

    @cached_property
    def waiver_index(self) -> WaiverIndex:
        """The waivers by rule and name."""
        return WaiverIndex(self.waivers)

    @property
    def comparison_key(self) -> Any:
        """A value that is equal for two stacks if their rules and expressions give equal results for equal topics."""
        rules = [(name, [block.placed for block in blocks]) for name, blocks in self.rules.items()]
        return self.brokers, rules, [compiled.expression for compiled, _, _ in self.expressions]


@dataclass(frozen=True)
class Policy:
    """The content of all policy files, and the rules that are always on.

    ``rules`` are the blocks of settings by rule id, in the order in which they are matched. ``stack_files`` are the
    settings by stack. ``patterns`` are all topic patterns in the policy files. ``problems`` are the problems in the
    policy files and in the stacks' settings. ``usage``, ``cost`` and ``contents`` are the blocks of these
    names. ``unread`` are policy files with a document that has errors and is not part of this content.
    """

    rules: Mapping[str, tuple[PlacedSettings, ...]]
    expressions: tuple[CompiledExpression, ...] = ()
    waivers: tuple[WaiverEntry, ...] = ()
    stack_files: Mapping[str, StackFile] = field(default_factory=dict)
    patterns: tuple[PlacedPattern, ...] = ()
    problems: tuple[Problem, ...] = ()
    usage: tuple[UsagePolicy, ...] = ()
    cost: tuple[CostPolicy, ...] = ()
    contents: tuple[ContentsPolicy, ...] = ()
    unread: tuple[str, ...] = ()

    def for_stack(self, stack: str) -> StackPolicy:
        """Return the part that applies to ``stack``, with compiled patterns."""
        rules = {name: _blocks(settings, stack) for name, settings in self.rules.items()}
        expressions = tuple(
            (compiled, level, compiled.expression.matcher())
            for compiled in self.expressions
            if compiled.expression.applies_on(stack) and (level := compiled.expression.level.level) is not None
        )
        waivers = tuple(placed for placed in self.waivers if placed.waiver.applies_on(stack))
        brokers = self.stack_file(stack).brokers
        return StackPolicy({name: blocks for name, blocks in rules.items() if blocks}, expressions, waivers, brokers)

    def usage_for(self, stack: str) -> UsagePolicy | None:
        """Return the first block of ``usage`` that applies to ``stack``; None without any."""
        return next((block for block in self.usage if block.applies_on(stack)), None)

    def cost_for(self, stack: str) -> CostPolicy | None:
        """Return the first block of ``cost`` that applies to ``stack``; None without any."""
        return next((block for block in self.cost if block.applies_on(stack)), None)

    def contents_for(self, stack: str) -> ContentsPolicy:
        """Return the first block of ``contents`` that applies to ``stack``; the defaults without any."""
        return next((block for block in self.contents if block.applies_on(stack)), ContentsPolicy())

    def stack_file(self, stack: str) -> StackFile:
        """Return the settings of ``stack``; the defaults for a stack without a file."""
        return self.stack_files.get(stack, StackFile())


def _blocks(settings: tuple[PlacedSettings, ...], stack: str) -> tuple[RuleBlock, ...]:
    """Return the blocks that apply to ``stack``; empty if all of them are off."""
    blocks = [
        RuleBlock(placed, placed.settings.level.level, placed.settings.matcher())
        for placed in settings
        if placed.settings.applies_on(stack)
    ]
    return tuple(blocks) if any(block.level is not None for block in blocks) else ()
