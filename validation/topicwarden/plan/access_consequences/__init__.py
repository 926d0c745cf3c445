"""The table of all consequences of a change of access.

Those of one kind are modules of ``kinds/<kind>/consequences/``; those of every kind are here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from topicwarden.kinds import modules
from topicwarden.plan.access_change import AccessChange
from topicwarden.plan.access_consequences import access_drift, access_outside_scope, access_unseen, undeclared_resource
from topicwarden.plan.access_context import AccessContext
from topicwarden.plan.change_guard import GuardedConsequence

if TYPE_CHECKING:
    from topicwarden.kafka.read.cluster import Cluster
    from topicwarden.plan.earlier_use import EarlierUse


RuleEvidence: TypeAlias = Callable[["Cluster", AccessChange, "EarlierUse | None", "str | None"], Mapping[Any, Any]]
"""Reads evidence, given the cluster, the change, where earlier observations of use are, and the id of the cluster."""
ACCESS_CONSEQUENCES: Final[tuple[GuardedConsequence[AccessContext], ...]] = (
    access_unseen,
    undeclared_resource,
    access_outside_scope,
    *(rule for each in modules("consequences") for rule in each.CONSEQUENCES),
    access_drift,
)
RULE_EVIDENCE: Final[Mapping[str, RuleEvidence]] = {
    rule.KIND: rule.EVIDENCE for rule in ACCESS_CONSEQUENCES if hasattr(rule, "EVIDENCE")
}
