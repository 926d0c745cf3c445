"""Access of a stack or of a cluster, made of its ACLs and of the other parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from topicwarden.model.access import ACLS, AccessSource, Acl, DeclaredAccess, DeployedAccess, LiveAccess
from topicwarden.model.problem import Location


def declared_access(
    acls: Mapping[Acl, tuple[AccessSource, ...]] | None = None,
    parts: Mapping[str, Mapping[Any, tuple[Any, Location]]] | None = None,
    **others: Any,
) -> DeclaredAccess:
    """Return declared access; an entry of ``parts`` has its value and where it is declared."""
    located = {
        part: {key: (value, (AccessSource(location, part),)) for key, (value, location) in entries.items()}
        for part, entries in (parts or {}).items()
    }
    return DeclaredAccess({ACLS: {acl: (True, sources) for acl, sources in (acls or {}).items()}, **located}, **others)


def deployed_access(
    acls: Collection[Acl] = (), parts: Mapping[str, Mapping[Any, Any]] | None = None, **others: Any
) -> DeployedAccess:
    """Return access in Pulumi's state."""
    return DeployedAccess({**({ACLS: dict.fromkeys(acls, True)} if acls else {}), **(parts or {})}, **others)


def live_access(
    acls: Collection[Acl] | None = None,
    parts: Mapping[str, Mapping[Any, Any] | None] | None = None,
    settings: Any = None,
    **others: Any,
) -> LiveAccess:
    """Return the access of a cluster; None for ``acls`` if the brokers do not report them."""
    of_acls: dict[str, Mapping[Any, Any]] = {} if acls is None else {ACLS: dict.fromkeys(acls, True)}
    return LiveAccess({**of_acls, **(parts or {})}, settings, **others)
