"""Access of a stack or of a cluster, made of its ACLs and of the other parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from topicwarden.model.access import AccessSource, Acl, DeclaredAccess, DeployedAccess, LiveAccess
from topicwarden.model.problem import Location


def declared_access(
    acls: Mapping[Acl, tuple[AccessSource, ...]] | None = None,
    parts: Mapping[str, Mapping[Any, tuple[Any, Location]]] | None = None,
    **others: Any,
) -> DeclaredAccess:
    """Return declared access; an entry of ``parts`` has its value and where it is declared."""
    return DeclaredAccess(acls or {}, parts or {}, **others)


def deployed_access(
    acls: Collection[Acl] = (), parts: Mapping[str, Mapping[Any, Any]] | None = None, **others: Any
) -> DeployedAccess:
    """Return access in Pulumi's state."""
    return DeployedAccess(frozenset(acls), parts or {}, **others)


def live_access(
    acls: Collection[Acl] | None = None,
    parts: Mapping[str, Mapping[Any, Any] | None] | None = None,
    settings: Any = None,
    **others: Any,
) -> LiveAccess:
    """Return the access of a cluster; None for ``acls`` if the brokers do not report them."""
    return LiveAccess(None if acls is None else frozenset(acls), parts or {}, settings, **others)
