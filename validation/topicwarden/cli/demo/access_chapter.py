"""A pull request revokes the access of a consumer group that is reading: the plan refuses it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from topicwarden.cli.demo.demo_run import STACK, DemoResult, DemoRun
from topicwarden.cli.terminal import TERMINAL
from topicwarden.extensions.sandbox.scenarios import active_group
from topicwarden.model.access import ACLS
from topicwarden.model.planned_change import PlanReport, Severity
from topicwarden.operations.plan import planned
from topicwarden.policies.check_specs import CheckedStacks
from topicwarden.report import terminal
from topicwarden.report.document import Medium
from topicwarden.report.plan.document import document as plan_document


def run(demo: DemoRun) -> Iterator[DemoResult]:
    demo.heading(f"topicwarden plan: a pull request revokes the access of {active_group.USER}, which is reading")
    with active_group.reading(demo.servers, demo.sandbox.user_servers):
        plan = planned(demo.engine, checked=_without_group(demo.checked), listener=TERMINAL)
    terminal.write(plan_document(plan, Medium.TERMINAL), demo.console)
    yield "a revoked access that is in use is refused", ["access-lost"], _refused(plan)


def _without_group(checked: CheckedStacks) -> CheckedStacks:
    """Return the declarations as if the YAML no longer gave access to the user of the active group."""
    access, principal = checked.access[STACK], f"User:{active_group.USER}"
    acls = {acl: entry for acl, entry in access.parts[ACLS].items() if acl.principal != principal}
    return replace(checked, access={STACK: replace(access, parts={**access.parts, ACLS: acls})})


def _refused(plan: PlanReport) -> list[str]:
    consequences = plan.access.consequences if plan.access else ()
    return [each.kind for each in consequences if each.severity is Severity.REFUSED]
