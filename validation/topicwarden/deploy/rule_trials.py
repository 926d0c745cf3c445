"""Adds to a plan what the retained records say about rules that are new since the last deploy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.planned_change import MOST_SEVERE_FIRST, Action, Consequence, Severity, TopicPlan
from topicwarden.model.project import Project
from topicwarden.plan.changed_rules import rule_trial
from topicwarden.plan.predict import Prediction
from topicwarden.policies.rule import RuleLevel
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas

if TYPE_CHECKING:
    from topicwarden.audit.request import AuditRequest

SEVERITIES: Mapping[RuleLevel, Severity] = {
    RuleLevel.ERROR: Severity.REFUSED,
    RuleLevel.WARNING: Severity.DANGER,
    RuleLevel.OFF: Severity.NOTE,
}
"""The severity of a new rule that records break, by the level in the policy."""


def with_tried_rules(
    prediction: Prediction,
    project: Project,
    declarations: Iterable[Declaration],
    deployed: DeployedStack,
    severity: Severity,
    *,
    request: Callable[[], AuditRequest],
) -> Prediction:
    """Return ``prediction`` with the consequences of rules that are new since the last deploy.

    ``declarations`` are all of the stack, and so are those of ``request``, which is called only if a rule is new.
    Rules are tried of ``deployed`` topics that are on the cluster, and stay there. ``severity`` is that of a rule that
    records break.
    """
    lost = {plan.topic for plan in prediction.plans if plan.action in (Action.DELETE, Action.RECREATE)}
    present = (deployed.topics.keys() & prediction.snapshot.topics.keys()) - lost
    schemas = ProjectSchemas(project.root)
    by_name = {each.topic.name: each for each in declarations if each.topic.name in present}
    trials = [
        trial
        for name, declaration in by_name.items()
        if (trial := rule_trial(declaration, deployed.topics[name].rules, schemas)) is not None
    ]
    if not trials:
        return prediction
    from topicwarden.audit.tried_rules import try_rules  # noqa: PLC0415 -- a deploy without new rules needs no audit

    found = try_rules(project, request(), trials, severity)
    plans = {plan.topic: plan for plan in prediction.plans}
    plans |= {name: _with(plans.get(name), by_name[name], consequences) for name, consequences in found.items()}
    return replace(prediction, plans=tuple(plans[name] for name in sorted(plans)))


def _with(plan: TopicPlan | None, declaration: Declaration, added: list[Consequence]) -> TopicPlan:
    topic = declaration.topic
    plan = plan or TopicPlan(
        topic=topic.name, domain=topic.domain, action=Action.TRY, location=declaration.locations.at(())
    )
    consequences = sorted([*plan.consequences, *added], key=lambda each: MOST_SEVERE_FIRST.index(each.severity))
    return plan.model_copy(update={"consequences": consequences})
