"""``undeclared-resource``: the engine would act on access in Pulumi's state that no deploy has declared.

Subjects whose state was edited are refused in the same way.
`pulumi import` brings such resources into the state, and so does editing it. No YAML allows what the engine would do
with them. `pulumi state taint` lets the engine delete a resource and create it again.
"""

from __future__ import annotations

from collections.abc import Iterable

from topicwarden.model.access import UndeclaredResource
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.plan.access_context import AccessContext
from topicwarden.plan.change_guard import ChangeGuard

KIND = "undeclared-resource"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "Pulumi's state has access that no deploy has declared or that is marked for replacement, or an edited subject",
        (),
        "`pulumi import`, `pulumi state taint` and edits of the state bring it there; refused by every command",
    ),
)


def evaluate(context: AccessContext) -> Iterable[Consequence]:
    """Return one refusal for each resource."""
    for each in context.change.undeclared:
        message, remedy = _texts(each)
        yield Consequence(
            kind=KIND,
            severity=Severity.REFUSED,
            message=message,
            measured="Pulumi's state",
            remedy=remedy,
            evidence={"urn": each.urn},
        )


def _texts(resource: UndeclaredResource) -> tuple[str, str]:
    if resource.tainted:
        return (
            f"Pulumi's state has {resource.title} marked for replacement, {resource.urn}: "
            "Pulumi would delete and create it again",
            f"`pulumi state untaint '{resource.urn}'` removes the mark and changes nothing on the cluster",
        )
    return (
        f"Pulumi's state has {resource.title}, {resource.urn}, as no deploy has declared it: Pulumi would remove it",
        f"`pulumi state delete --force '{resource.urn}'` removes it from the state and changes nothing on the cluster; "
        "to remove it from the cluster, first deploy it with its YAML",
    )
