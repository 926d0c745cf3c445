"""The real `pulumi preview`, and the state that it compares with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from topicwarden.deploy.invoking_command import CommandKind, calling
from topicwarden.deploy.pulumi_engine import TOPIC_TYPE, PulumiEngine, decoded, log_of, without_traceback
from topicwarden.deploy.stack_state import exported
from topicwarden.model import planned_change
from topicwarden.model.problem import Refusal
from topicwarden.plan.deployed_stack import DeployedStack
from topicwarden.plan.engine_steps import TopicStep

_PROGRAM_FAILED: Final = ("Program exited with non-zero exit code", "Program failed with an unhandled exception")


@dataclass(frozen=True)
class PreviewedStack:
    """What a preview said, and its steps on topics, those that leave a topic as it is left out.

    ``ended``: the program registered all its topics. ``log`` has Pulumi's messages in full.
    """

    engine: planned_change.PreviewResult
    steps: tuple[TopicStep, ...]
    ended: bool
    log: str

    def require_end(self, stack: str, explained: Collection[str]) -> None:
        """Refuse a preview whose program died: what was registered until then is not what the YAML declares.

        ``explained`` are the errors with which the engine stopped at a topic that the plan refuses.
        """
        rest = [error for error in self.engine.errors if error not in explained]
        if (self.ended or (explained and not rest)) and not _died(rest):
            return
        why = "; ".join(rest) or "the program ended before all its topics were registered"
        raise Refusal(
            f"`pulumi preview` did not come to its end, so there is no plan: {why}; run "
            f"`pulumi preview --stack {stack}` to see it fail",
            details=self.log,
        )


@dataclass(frozen=True)
class Preview:
    """A preview that is under way; what was deployed is known before it ends."""

    deployed: DeployedStack
    _running: Future[PreviewedStack]

    def result(self) -> PreviewedStack:
        """Wait for the preview, and return what the engine said; refuses if it could not even begin."""
        return self._running.result()


def start_preview(engine: PulumiEngine) -> Preview:
    """Starts `pulumi preview`, and reads the state beside it; refuses a stack that Pulumi does not know."""
    with_one = ThreadPoolExecutor(max_workers=1)
    running = with_one.submit(_preview, engine)
    with_one.shutdown(wait=False)
    return Preview(exported(engine), running)


def _preview(engine: PulumiEngine) -> PreviewedStack:
    with calling(engine, CommandKind.PLAN) as call:
        done = call.engine.look("preview", "--json")
        ended = call.ended()
    answer = decoded(done, "pulumi preview")
    errors = _errors(answer)
    steps = tuple(_steps(answer))
    counts = dict(sorted(Counter(step.op for step in steps).items()))
    engine_report = planned_change.PreviewResult(ran=done.returncode == 0, steps=counts, errors=errors)
    return PreviewedStack(engine_report, steps, ended, log_of(done))


def _died(errors: Iterable[str]) -> bool:
    """Return whether a language host, this package's or Pulumi's own, reports that the program failed."""
    return any(said in error for error in errors for said in _PROGRAM_FAILED)


def _steps(answer: Mapping[str, Any]) -> Iterator[TopicStep]:
    for step in answer.get("steps") or ():
        state = step.get("oldState") or step.get("newState") or {}
        if step["op"] != "same" and state.get("type") == TOPIC_TYPE:
            properties = {**(state.get("inputs") or {}), **(state.get("outputs") or {})}
            yield TopicStep(str(properties.get("name") or state.get("id")), str(step["op"]), str(step["urn"]))


def _errors(said: Mapping[str, Any]) -> list[str]:
    """One line each; the engine's own closing line says no more than that there were some."""
    messages = (str(one["message"]) for one in said.get("diagnostics") or () if one.get("severity") == "error")
    told = (" ".join(without_traceback(message.removeprefix("error: ")).split()) for message in messages)
    return [message for message in dict.fromkeys(told) if message and message != "preview failed"]
