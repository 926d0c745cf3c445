"""The table of all consequences of a change of access, and their protocol.

Those of one kind are modules of ``kinds/<kind>/consequences/``; those of every kind are here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from topicwarden.kinds import KINDS, modules
from topicwarden.model.planned_change import Consequence
from topicwarden.plan.access_change import AccessChange
from topicwarden.plan.access_consequences import access_drift, access_unseen, undeclared_resource
from topicwarden.plan.access_context import AccessContext
from topicwarden.plan.change_guard import ChangeGuard

if TYPE_CHECKING:
    from topicwarden.kafka.read.cluster import Cluster
    from topicwarden.plan.earlier_use import EarlierUse


class AccessConsequenceRule(Protocol):
    """A module with these names; its docstring describes the effect, its inputs, and how exact it is.

    ``KIND`` is the kind of its consequences, and ``GUARDS`` has their rows of the page of all guards.
    """

    KIND: str
    GUARDS: tuple[ChangeGuard, ...]

    def evaluate(self, context: AccessContext) -> Iterable[Consequence]:
        """Return the consequences of the change. Without the ACLs of the cluster, there are no effects of ACLs."""


KindEvidence: TypeAlias = Callable[["Cluster", AccessChange, "EarlierUse | None", "str | None"], Mapping[Any, Any]]
"""Reads evidence, given the cluster, the change, where earlier observations of use are, and the id of the cluster."""
KIND_EVIDENCE: Final[Mapping[str, KindEvidence]] = {
    kind: each.EVIDENCE for kind, each in zip(KINDS, modules("consequences"), strict=True) if hasattr(each, "EVIDENCE")
}
ACCESS_CONSEQUENCES: Final[tuple[AccessConsequenceRule, ...]] = (
    access_unseen,
    undeclared_resource,
    *(rule for each in modules("consequences") for rule in each.CONSEQUENCES),
    access_drift,
)
