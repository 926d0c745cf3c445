"""Adoption: topics that are on the cluster exactly as they are declared come into Pulumi's state, and stay untouched.

The program registers such topics with ``import``; here, nothing else of what it would do is let through.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from topicwarden.deploy.invoking_command import CommandKind, Invocation, calling
from topicwarden.deploy.pulumi_engine import TOPIC_TYPE, EngineStep, PulumiEngine
from topicwarden.model.problem import Refusal

_PROVIDER: Final = "pulumi:providers:kafka"
_OURS: Final = ("pulumi:pulumi:Stack", _PROVIDER)
_COMPONENTS: Final = "topicwarden:index:"


@dataclass(frozen=True)
class Adoption:
    """The topics that came into the state, sorted, and how many other changes ``pulumi up`` would make."""

    topics: tuple[str, ...]
    pending: int


def adopt(engine: PulumiEngine) -> Adoption:
    """Imports every topic that the program would; refuses before anything is applied where more would happen.

    Pulumi is given targets. It imports also what is not targeted, and then writes a state without the parents of it,
    which it refuses to read again: so all imports are targets, and all above them.
    """
    with calling(engine, CommandKind.IMPORT) as call:
        return _adopt(call)


def _adopt(call: Invocation) -> Adoption:
    engine = call.engine
    steps = engine.preview()
    if not call.ended():
        raise Refusal(
            "nothing was adopted, as the program did not come to its end: run "
            f"`pulumi preview --stack {engine.stack}` to see why"
        )
    imports = [step for step in steps if step.op == "import"]
    pending = sum(step.op not in ("same", "import") and step.type == TOPIC_TYPE for step in steps)
    if not imports:
        return Adoption((), pending)
    targets = [*_above(imports, steps), *(step.urn for step in imports)]
    if not all(map(_harmless, steps)):
        _refuse_more(engine, engine.preview(targets))
    engine.up(targets)
    return Adoption(tuple(sorted(step.urn.rpartition("::")[2] for step in imports)), pending)


def _refuse_more(engine: PulumiEngine, steps: Iterable[EngineStep]) -> None:
    if more := [step for step in steps if not _harmless(step)]:
        told = ", ".join(f"{step.op} {step.urn.rpartition('::')[2]}" for step in more)
        raise Refusal(f"nothing was adopted, as Pulumi would also {told}: see `pulumi preview --stack {engine.stack}`")


def _above(imports: Iterable[EngineStep], steps: Sequence[EngineStep]) -> list[str]:
    """The components that are to hold the imports, from the outermost, and the provider that reads them."""
    components = {step.urn: step for step in steps if step.type.startswith(_COMPONENTS)}
    found = dict.fromkeys(step.urn for step in steps if step.type == _PROVIDER and step.op != "same")
    for step in imports:
        parent, line = step.parent, []
        while parent in components:
            line.append(parent)
            parent = components[parent].parent
        found |= dict.fromkeys(reversed(line))
    return list(found)


def _harmless(step: EngineStep) -> bool:
    """Whether a step leaves the cluster as it is: reads a topic into the state, or only keeps Pulumi's own books."""
    if step.op == "same":
        return True
    if step.type == TOPIC_TYPE:
        return step.op == "import"
    return step.op in ("create", "update") and (step.type in _OURS or step.type.startswith(_COMPONENTS))
