"""Runs `pulumi preview`, and reads the state that it compares with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
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
from topicwarden.deploy.stack_state import deployed_stack, read_stack_state
from topicwarden.deploy.target_urns import target_urns
from topicwarden.model import planned_change
from topicwarden.model.problem import Refusal
from topicwarden.plan.deployed_stack import DeployedStack
from topicwarden.plan.engine_steps import TopicStep
from topicwarden.specs.resolve import Declaration

_PROGRAM_FAILED: Final = ("Program exited with non-zero exit code", "Program failed with an unhandled exception")


@dataclass(frozen=True)
class PreviewedStack:
    """The result of a preview, and its steps on topics, without steps that do not change a topic.

    ``ended`` is true if the program registered all its topics. ``log`` has Pulumi's full messages.
    """

    engine: planned_change.PreviewResult
    steps: tuple[TopicStep, ...]
    ended: bool
    log: str

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


@dataclass(frozen=True)
class Preview:
    """A running preview; the deployed topics are known before it ends."""

    deployed: DeployedStack
    _running: Future[PreviewedStack]

    def result(self) -> PreviewedStack:
        """Wait for the preview and return its result; refuse if the preview could not start."""
        return self._running.result()


def start_preview(engine: PulumiEngine, declarations: Iterable[Declaration], patterns: Sequence[str]) -> Preview:
    """Start `pulumi preview`, and read the state meanwhile; refuse a stack that Pulumi does not know.

    With ``patterns``, the preview and the state are those of the topics that match these globs. The ``declarations``
    are those of these topics. Raises Refusal if no topic matches.
    """
    executor = ThreadPoolExecutor(max_workers=1)
    if not patterns:
        running = executor.submit(_preview, engine)
        deployed = read_stack_state(engine)
    else:
        resources = engine.resources()
        deployed = deployed_stack(resources).only(patterns)
        topics = [declaration.topic for declaration in declarations]
        names = {*deployed.topics, *(topic.name for topic in topics)}
        if not names:
            raise Refusal(f"no topic, declared or deployed, matches --topics {' or '.join(patterns)}")
        existing = {str(resource["urn"]) for resource in resources}
        targets = target_urns(engine, (topic.domain for topic in topics), names, deployed, existing)
        running = executor.submit(_preview, engine, patterns, targets)
    executor.shutdown(wait=False)
    return Preview(deployed, running)


def _preview(engine: PulumiEngine, patterns: Sequence[str] = (), targets: Sequence[str] = ()) -> PreviewedStack:
    with invoking(engine, CommandKind.PLAN, patterns) as invocation:
        done = invocation.engine.run_read_only("preview", "--json", *ALL_AT_ONCE, *targeted(targets))
        ended = invocation.ended()
    answer = decoded(done, "pulumi preview")
    errors = _errors(answer)
    steps = tuple(_steps(answer))
    counts = dict(sorted(Counter(step.op for step in steps).items()))
    engine_report = planned_change.PreviewResult(ran=done.returncode == 0, steps=counts, errors=errors)
    return PreviewedStack(engine_report, steps, ended, log_of(done))


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
