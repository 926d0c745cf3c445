"""The real `pulumi preview`, and the state that it compares with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from topicwarden import change
from topicwarden.deploy.engine import TOPIC_TYPE, Engine, complaint
from topicwarden.deploy.state import exported
from topicwarden.plan.deployed import DeployedStack
from topicwarden.problem import Refusal

PLANNING = "TOPICWARDEN_PLANNING"
"""Set for the preview under a plan: the program then leaves it to the plan to say what is refused."""


@dataclass(frozen=True)
class Preview:
    """A preview that is under way; what was deployed is known before it ends."""

    deployed: DeployedStack
    _said: Future[change.Engine]

    def engine(self) -> change.Engine:
        """What the engine said; waits for it. Refuses where it could not even begin."""
        return self._said.result()


def start_preview(engine: Engine) -> Preview:
    """Starts `pulumi preview`, and reads the state beside it; refuses a stack that Pulumi does not know."""
    planning = replace(engine, variables={**engine.variables, PLANNING: "1"})
    with_one = ThreadPoolExecutor(max_workers=1)
    said = with_one.submit(_preview, planning)
    with_one.shutdown(wait=False)
    return Preview(exported(engine), said)


def _preview(engine: Engine) -> change.Engine:
    done = engine.look("preview", "--json")
    try:
        said = json.loads(done.stdout)
    except json.JSONDecodeError:
        raise Refusal(f"pulumi preview could not run: {complaint(done)}") from None
    return change.Engine(ran=done.returncode == 0, steps=_steps(said), errors=_errors(said))


def _steps(said: Mapping[str, Any]) -> dict[str, int]:
    steps = Counter(str(step["op"]) for step in said.get("steps") or () if _of_topic(step))
    return dict(sorted(steps.items()))


def _of_topic(step: Mapping[str, Any]) -> bool:
    state = step.get("newState") or step.get("oldState") or {}
    return step["op"] != "same" and state.get("type") == TOPIC_TYPE


def _errors(said: Mapping[str, Any]) -> list[str]:
    """One line each; the engine's own closing line says no more than that there were some."""
    messages = (str(one["message"]) for one in said.get("diagnostics") or () if one.get("severity") == "error")
    told = (" ".join(message.removeprefix("error: ").split()) for message in messages)
    return [message for message in dict.fromkeys(told) if message and message != "preview failed"]
