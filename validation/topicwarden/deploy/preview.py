"""Runs `pulumi preview`, and takes over what the program predicts meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from topicwarden.deploy.invoking_command import CommandKind, invoking
from topicwarden.deploy.pulumi_engine import (
    ALL_AT_ONCE,
    TOPIC_TYPE,
    PulumiEngine,
    decoded,
    log_of,
    targeted,
    without_traceback,
)
from topicwarden.deploy.stack_state import deployed_stack
from topicwarden.deploy.target_urns import target_urns
from topicwarden.model import planned_change
from topicwarden.model.problem import Refusal
from topicwarden.model.topic_selection import none_selected, selected
from topicwarden.plan.engine_steps import TopicStep
from topicwarden.plan.predicted_stack import PredictedStack
from topicwarden.specs.resolve import Declaration

_PROGRAM_FAILED: Final = ("Program exited with non-zero exit code", "Program failed with an unhandled exception")


@dataclass(frozen=True)
class PreviewedStack:
    """The result of a preview, and its steps on topics, without steps that do not change a topic.

    ``ended`` is true if the program registered all its topics. ``log`` has Pulumi's full messages. ``predicted`` is
    what the program predicted before; None if it ended earlier.
    """

    engine: planned_change.PreviewResult
    steps: tuple[TopicStep, ...]
    ended: bool
    log: str
    predicted: PredictedStack | None

    def prediction(self, stack: str) -> PredictedStack:
        """Return what the program predicted; refuse a preview whose program ended before."""
        if self.predicted is None:
            self.require_end(stack, ())
            raise Refusal("the project's own environment has another version of topicwarden: install this one there")
        return self.predicted

    def require_end(self, stack: str, explained: Collection[str]) -> None:
        """Refuse a preview whose program ended early: it has not registered all topics that the YAML declares.

        ``explained`` are the errors of the engine at topics that the plan refuses.
        """
        rest = [error for error in self.engine.errors if error not in explained]
        if (self.ended or (explained and not rest)) and not _died(rest):
            return
        reason = "; ".join(rest) or "the program ended before all its topics were registered"
        raise Refusal(
            f"`pulumi preview` ended early, so there is no plan: {reason}; run "
            f"`pulumi preview --stack {stack}` to see the failure",
            details=self.log,
        )


def preview(engine: PulumiEngine, declarations: Iterable[Declaration], patterns: Sequence[str]) -> PreviewedStack:
    """Run `pulumi preview`. With ``patterns``, only for the topics that match these globs.

    Raises Refusal if no topic matches, or if the state cannot be read.
    """
    targets = _targets(engine, declarations, patterns) if patterns else []
    with invoking(engine, CommandKind.PLAN, patterns) as invocation:
        done = invocation.engine.run_read_only("preview", "--json", *ALL_AT_ONCE, *targeted(targets))
        ended, result = invocation.ended(), invocation.result()
    if result is None:
        engine.resources()  # refuses a state that cannot be read, with what to do
    answer = decoded(done, "pulumi preview")
    errors = _errors(answer)
    steps = tuple(_steps(answer))
    counts = dict(sorted(Counter(step.op for step in steps).items()))
    engine_report = planned_change.PreviewResult(ran=done.returncode == 0, steps=counts, errors=errors)
    predicted = None if result is None else PredictedStack.model_validate_json(result)
    return PreviewedStack(engine_report, steps, ended, log_of(done), predicted)


def _targets(engine: PulumiEngine, declarations: Iterable[Declaration], patterns: Sequence[str]) -> list[str]:
    resources = engine.resources()
    stack = deployed_stack(resources)
    deployed = stack.only(patterns)
    declared = [declaration.topic for declaration in declarations]
    topics = [topic for topic in declared if selected(topic.name, patterns)]
    names = {*deployed.topics, *deployed.duplicates, *(topic.name for topic in topics)}
    if not names:
        raise none_selected(
            "topic, declared or deployed,", patterns, {*stack.topics, *(topic.name for topic in declared)}
        )
    existing = {str(resource["urn"]) for resource in resources}
    return target_urns(engine, (topic.domain for topic in topics), names, deployed, existing)


def _died(errors: Iterable[str]) -> bool:
    """Return whether a language host, this package's or Pulumi's own, reports that the program failed."""
    return any(message in error for error in errors for message in _PROGRAM_FAILED)


def _steps(answer: Mapping[str, Any]) -> Iterator[TopicStep]:
    for step in answer.get("steps") or ():
        state = step.get("oldState") or step.get("newState") or {}
        if step["op"] != "same" and state.get("type") == TOPIC_TYPE:
            properties = {**(state.get("inputs") or {}), **(state.get("outputs") or {})}
            yield TopicStep(str(properties.get("name") or state.get("id")), str(step["op"]), str(step["urn"]))


def _errors(answer: Mapping[str, Any]) -> list[str]:
    """Return the errors, one line each, without the engine's closing line."""
    diagnostics = answer.get("diagnostics") or ()
    messages = (str(entry["message"]) for entry in diagnostics if entry.get("severity") == "error")
    lines = (" ".join(without_traceback(message.removeprefix("error: ")).split()) for message in messages)
    return [line for line in dict.fromkeys(lines) if line and line != "preview failed"]
