"""Everything that the policy files say, and what of it holds on one stack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from topicwarden.model.problem import Level, Location, Problem
from topicwarden.model.topic import Topic
from topicwarden.policies.expressions import CompiledExpression
from topicwarden.policies.rule import RuleSettings
from topicwarden.policies.topic_view import TopicFields, needs
from topicwarden.policies.unmatched_patterns import PlacedPattern
from topicwarden.policies.waivers import PlacedWaiver
from topicwarden.specs.broker_settings import BrokerSettings

Matches: TypeAlias = Callable[[Topic], Any]


@dataclass(frozen=True)
class PlacedSettings:
    """One block of a rule's settings, and where it stands; None for those that always hold."""

    settings: RuleSettings
    place: Location | None = None


@dataclass(frozen=True)
class RuleBlock:
    """A block as it holds on a stack. ``matches`` None: every topic; ``level`` None: off."""

    held: PlacedSettings
    level: Level | None
    matches: Matches | None


@dataclass(frozen=True)
class StackPolicy:
    """What holds on one stack. Of a rule's blocks the first that matches a topic holds for it."""

    rules: Mapping[str, tuple[RuleBlock, ...]]
    expressions: tuple[tuple[CompiledExpression, Level, Matches | None], ...]
    waivers: tuple[PlacedWaiver, ...]
    brokers: BrokerSettings

    @cached_property
    def needs(self) -> TopicFields:
        """What of a topic its expressions look at."""
        held = (compiled.expression for compiled, _, _ in self.expressions)
        return needs(text for each in held for text in (each.when or "", each.require))

    @property
    def basis(self) -> Any:
        """Equal where two stacks judge topics alike."""
        blocks = [(name, [block.held for block in held]) for name, held in self.rules.items()]
        return self.brokers, blocks, [compiled.expression for compiled, _, _ in self.expressions]


@dataclass(frozen=True)
class Policy:
    """The rules that hold, by id, in the order in which they are tried: those of every policy file, and those that
    always do. ``brokers`` is by stack; ``patterns`` are all patterns of topics. What is wrong with the policy files or
    the stacks' settings is in ``problems``.
    """

    rules: Mapping[str, tuple[PlacedSettings, ...]]
    expressions: tuple[CompiledExpression, ...] = ()
    waivers: tuple[PlacedWaiver, ...] = ()
    brokers: Mapping[str, BrokerSettings] = field(default_factory=dict)
    patterns: tuple[PlacedPattern, ...] = ()
    problems: tuple[Problem, ...] = ()

    def of(self, stack: str) -> StackPolicy:
        """What holds on ``stack``, patterns compiled."""
        rules = {name: _blocks(held, stack) for name, held in self.rules.items()}
        expressions = tuple(
            (compiled, level, compiled.expression.matcher())
            for compiled in self.expressions
            if compiled.expression.on(stack) and (level := compiled.expression.level.level) is not None
        )
        waivers = tuple(held for held in self.waivers if held.waiver.on(stack))
        brokers = self.brokers.get(stack, BrokerSettings())
        return StackPolicy({name: held for name, held in rules.items() if held}, expressions, waivers, brokers)


def _blocks(held: tuple[PlacedSettings, ...], stack: str) -> tuple[RuleBlock, ...]:
    blocks = [
        RuleBlock(each, each.settings.level.level, each.settings.matcher()) for each in held if each.settings.on(stack)
    ]
    return tuple(blocks) if any(block.level is not None for block in blocks) else ()
