"""Adopts topics that are on the cluster exactly as declared into Pulumi's state, without changing them.

The program registers such topics with ``import``. This module applies these imports, and refuses all other changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from topicwarden.deploy.program_run import ProgramRun, Purpose
from topicwarden.deploy.pulumi_commands import pulumi_preview, pulumi_up
from topicwarden.deploy.pulumi_engine import PulumiEngine, error_text, log_of, targeted
from topicwarden.deploy.write_options import backend_url, write_options
from topicwarden.kinds.topic.resource import TOPIC_TYPE
from topicwarden.model.problem import Refusal
from topicwarden.plan.engine_steps import EngineStep
from topicwarden.policies.check_specs import CheckedStacks, check

_PROVIDER: Final = "pulumi:providers:kafka"
_INTERNAL: Final = ("pulumi:pulumi:Stack", _PROVIDER)
_COMPONENTS: Final = "topicwarden:index:"


@dataclass(frozen=True)
class Adoption:
    """The adopted topics, sorted, and the number of other changes that ``pulumi up`` would make to topics."""

    topics: tuple[str, ...]
    pending: int


def adopt(engine: PulumiEngine) -> Adoption:
    """Import every topic that the program registers with ``import``; refuse before the start if more would change.

    All imports and their parents are passed to Pulumi as targets. Pulumi also imports resources that are not targets,
    but then writes a state without their parents, which it refuses to read again.
    """
    checked = check(engine.project, [engine.stack])
    steps = _previewed(engine, checked)
    imports = [step for step in steps if step.op == "import"]
    pending = sum(step.op not in ("same", "import") and step.type == TOPIC_TYPE for step in steps)
    if not imports:
        return Adoption((), pending)
    targets = [*_parents(imports, steps), *(step.urn for step in imports)]
    if not all(map(_harmless, steps)):
        _refuse_more(engine, _previewed(engine, checked, targets))
    options = write_options("up", backend_url(engine), len(imports), refresh="")
    done = pulumi_up(ProgramRun(engine, Purpose.ADOPT, checked=checked), options, *targeted(targets))
    if done.returncode:
        raise Refusal(f"`pulumi up` failed: {error_text(done)}", details=log_of(done))
    return Adoption(tuple(sorted(step.urn.rpartition("::")[2] for step in imports)), pending)


def _previewed(engine: PulumiEngine, checked: CheckedStacks, targets: Sequence[str] = ()) -> Sequence[EngineStep]:
    """Return the steps of the adoption; refuse a preview that failed."""
    run, answer = pulumi_preview(lambda: ProgramRun(engine, Purpose.ADOPT, checked=checked), targets)
    if answer.done.returncode:
        raise Refusal(f"nothing was adopted: `pulumi preview` failed: {error_text(answer.done)}", log_of(answer.done))
    if not run.complete:
        raise Refusal(
            "nothing was adopted, because the program ended early: run "
            f"`pulumi preview --stack {engine.stack}` to see why"
        )
    return answer.steps


def _refuse_more(engine: PulumiEngine, steps: Iterable[EngineStep]) -> None:
    if more := [step for step in steps if not _harmless(step)]:
        changes = ", ".join(f"{step.op} {step.urn.rpartition('::')[2]}" for step in more)
        raise Refusal(
            f"nothing was adopted, because Pulumi would also {changes}: see `pulumi preview --stack {engine.stack}`"
        )


def _parents(imports: Iterable[EngineStep], steps: Sequence[EngineStep]) -> list[str]:
    """Return the URNs of the provider and of the components above the imports, the outermost component first."""
    components = {step.urn: step for step in steps if step.type.startswith(_COMPONENTS)}
    urns = dict.fromkeys(step.urn for step in steps if step.type == _PROVIDER and step.op != "same")
    for step in imports:
        parent, ancestors = step.parent, []
        while parent in components:
            ancestors.append(parent)
            parent = components[parent].parent
        urns |= dict.fromkeys(reversed(ancestors))
    return list(urns)


def _harmless(step: EngineStep) -> bool:
    """Return whether a step does not change the cluster: it imports a topic, or only changes Pulumi's own resources."""
    if step.op == "same":
        return True
    if step.type == TOPIC_TYPE:
        return step.op == "import"
    return step.op in ("create", "update") and (step.type in _INTERNAL or step.type.startswith(_COMPONENTS))
