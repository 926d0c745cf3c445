"""The real `pulumi preview`, and the state that it compares with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from topicwarden import change
from topicwarden.deploy.caller import Caller, calling
from topicwarden.deploy.engine import TOPIC_TYPE, Engine, complaint, decoded, log_of
from topicwarden.deploy.state import exported
from topicwarden.plan.deployed import DeployedStack
from topicwarden.plan.steps import TopicStep
from topicwarden.problem import Refusal

_PROGRAM_FAILED: Final = ("Program exited with non-zero exit code", "Program failed with an unhandled exception")


@dataclass(frozen=True)
class Previewed:
    """What a preview said, and its steps on topics, those that leave a topic as it is left out."""

    engine: change.Engine
    steps: tuple[TopicStep, ...]


@dataclass(frozen=True)
class Preview:
    """A preview that is under way; what was deployed is known before it ends."""

    deployed: DeployedStack
    _running: Future[Previewed]

    def result(self) -> Previewed:
        """Wait for the preview, and return what the engine said; refuses if it could not even begin."""
        return self._running.result()


def start_preview(engine: Engine) -> Preview:
    """Starts `pulumi preview`, and reads the state beside it; refuses a stack that Pulumi does not know."""
    with_one = ThreadPoolExecutor(max_workers=1)
    running = with_one.submit(_preview, engine)
    with_one.shutdown(wait=False)
    return Preview(exported(engine), running)


def _preview(engine: Engine) -> Previewed:
    with calling(engine, Caller.PLAN) as call:
        done = call.engine.look("preview", "--json")
        ended = call.ended()
    answer = decoded(done, "pulumi preview")
    errors = _errors(answer)
    if not ended or _died(errors):
        why = " ".join(complaint(done).split()) if done.returncode else "the program ended before its topics were known"
        raise Refusal(
            f"`pulumi preview` did not come to its end, so there is no plan: {why}; run "
            f"`pulumi preview --stack {engine.stack}` to see it fail",
            details=log_of(done),
        )
    steps = tuple(_steps(answer))
    counts = dict(sorted(Counter(step.op for step in steps).items()))
    return Previewed(change.Engine(ran=done.returncode == 0, steps=counts, errors=errors), steps)


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
    told = (" ".join(message.removeprefix("error: ").split()) for message in messages)
    return [message for message in dict.fromkeys(told) if message and message != "preview failed"]
