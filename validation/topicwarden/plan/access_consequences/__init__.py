"""The table of all consequences of a change of access, and their protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from topicwarden.model.planned_change import Consequence
from topicwarden.plan.access_consequences import (
    access_drift,
    access_lost,
    access_opened,
    access_outside_scope,
    access_unseen,
    clients_throttled,
    credential_removed,
    first_acl,
    group_settings,
    self_lockout,
    undeclared_resource,
)
from topicwarden.plan.access_context import AccessContext


class AccessConsequenceRule(Protocol):
    """A module with this function; its docstring describes the effect, its inputs, and how exact it is."""

    KIND: str

    def evaluate(self, context: AccessContext) -> Iterable[Consequence]:
        """Return the consequences of the change. Without the ACLs of the cluster, there are no effects of ACLs."""


ACCESS_CONSEQUENCES: tuple[AccessConsequenceRule, ...] = (
    access_unseen,
    undeclared_resource,
    access_outside_scope,
    self_lockout,
    access_lost,
    first_acl,
    access_opened,
    clients_throttled,
    group_settings,
    credential_removed,
    access_drift,
)
