"""Reduce a failing scenario to the smallest part that still fails: one topic, few steps, few actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.campaigns.guards.runner import Violation
from tests.campaigns.guards.scenario import Scenario, Step


def shrink(scenario: Scenario, violation: Violation, fails: Callable[[Scenario], bool], attempts: int) -> Scenario:
    """Return the smallest scenario found within ``attempts`` runs for which ``fails`` is true."""
    smallest = replace(scenario, steps=scenario.steps[: violation.step + 1])
    progress = True
    while progress and attempts > 0:
        progress = False
        for smaller in _smaller(smallest, violation.fault.topic):
            attempts -= 1
            if fails(smaller):
                smallest, progress = smaller, True
                break
            if attempts <= 0:
                break
    return smallest


def _smaller(scenario: Scenario, accused: str) -> Iterator[Scenario]:
    """Yield reduced scenarios, the largest reductions first."""
    names = [start.name for start in scenario.topics]
    if len(names) > 1:
        named = [name for name in names if name in accused]
        if named and len(named) < len(names):
            yield scenario.only(named)
        half = len(names) // 2
        yield scenario.only(names[:half])
        yield scenario.only(names[half:])
    for number in range(len(scenario.steps) - 1):
        yield replace(scenario, steps=scenario.steps[:number] + scenario.steps[number + 1 :])
    for number, step in enumerate(scenario.steps):
        if step.broker_down is not None or step.preview:
            yield _with(scenario, number, replace(step, broker_down=None, preview=False))
        for index in range(len(step.actions)):
            yield _with(scenario, number, replace(step, actions=step.actions[:index] + step.actions[index + 1 :]))


def _with(scenario: Scenario, number: int, step: Step) -> Scenario:
    return replace(scenario, steps=(*scenario.steps[:number], step, *scenario.steps[number + 1 :]))
