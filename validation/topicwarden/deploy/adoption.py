"""Adopts topics that are on the cluster exactly as declared into Pulumi's state, without changing them.

The program registers such topics with ``import``. One run of the engine is limited to them, before which everything is
judged, and in which the provider only reads:

- The targets are the topics and their new parents. None of them is in the state, so the engine updates, replaces and
  deletes nothing (``stepGenerator``: other resources stay the same, ``determineAllowedResourcesToDeleteFromTargets``).
- The program refuses before it registers anything, under the lock on the state.
- The provider refuses each write, and answers the imports only when all of them can succeed; see ``AdoptionGate``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from topicwarden.deploy.preview import target_urns
from topicwarden.deploy.program_run import ENDED_EARLY, PlannedAdoption, ProgramRun, Purpose
from topicwarden.deploy.provider.adoption_gate import NOT_ALL, AdoptionGate
from topicwarden.deploy.pulumi_commands import pulumi_up
from topicwarden.deploy.pulumi_engine import PulumiEngine, error_text, log_of, targeted
from topicwarden.deploy.stack_state import deployed_stack
from topicwarden.deploy.topic_registration import adopted_properties
from topicwarden.deploy.write_options import backend_url, write_options
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.planned_change import Action
from topicwarden.model.problem import Refusal
from topicwarden.policies.check_specs import CheckedStacks, check

_CHANGES: Final = frozenset({Action.CREATE, Action.UPDATE, Action.RECREATE, Action.DELETE})


@dataclass(frozen=True)
class Adoption:
    """The adopted topics, sorted, and the number of topics that `pulumi up` would change."""

    topics: tuple[str, ...]
    pending: int


def adopt(
    engine: PulumiEngine,
    live: Snapshot,
    resources: Sequence[dict[str, Any]],
    checked: CheckedStacks | None = None,
) -> Adoption:
    """Import every declared topic of the cluster ``live`` that the state does not have: all of them, or none.

    ``resources`` is the state, and ``checked`` are the declarations, if they are known. Raises Refusal, and leaves the
    state as it is, if a topic cannot be adopted.
    """
    checked, deployed = checked or check(engine.project, [engine.stack]), deployed_stack(resources)
    known = {*deployed.topics, *deployed.duplicates, *deployed.uncreated}
    topics = [each.topic for each in checked.declarations[engine.stack]]
    new = {topic.name: topic for topic in topics if topic.name in live.topics and topic.name not in known}
    if not new:
        return Adoption((), 0)
    existing = {str(resource["urn"]) for resource in resources}
    # Resources that the state has are no targets: the engine could delete these.
    targets = target_urns(engine, (topic.domain for topic in new.values()), new, DeployedStack(), existing)
    gate = AdoptionGate({name: adopted_properties(topic, live.topics[name].own_config) for name, topic in new.items()})
    planned = PlannedAdoption(frozenset(new), live, deployed, gate)
    run = ProgramRun(engine, Purpose.ADOPT, checked=checked, adoption=planned)
    options = write_options("import", backend_url(engine), len(new))
    done = pulumi_up(run, options, "--suppress-outputs", *targeted(targets))
    if run.refusal is not None:
        raise run.refusal
    if gate.reason is not None:
        raise Refusal(f"nothing was adopted: {gate.reason}", details=log_of(done))
    if not gate.adopted:
        errors = [line for line in error_text(done).splitlines() if not line.endswith((NOT_ALL, "update failed"))]
        reason = f"`pulumi up` failed: {'; '.join(errors)}" if errors and done.returncode else ENDED_EARLY
        raise Refusal(f"nothing was adopted: {reason}", details=log_of(done))
    if done.returncode or not run.complete:
        raise Refusal(f"`pulumi up` failed: {error_text(done)}", details=log_of(done))
    plans = run.prediction.report.topics if run.prediction else ()
    return Adoption(tuple(sorted(new)), sum(plan.action in _CHANGES for plan in plans))
