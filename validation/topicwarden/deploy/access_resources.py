"""Access as Pulumi resources, in an order that never opens a gap and locks nobody out.

Pulumi deletes what is no longer declared after it has created and updated everything else, so a grant that replaces
another one exists before the other one is revoked. The rest of the order is this module's:

- A DENY is created before the ALLOWs, and deleted after them, because an ALLOW without the DENY that restricts it
  grants too much. The other order would gain nothing: a DENY takes away what is declared to be taken away.
- With ``allow.everyone.if.no.acl.found``, the first ACL of a resource shuts out everyone whom no other one allows. So
  all new ACLs are created with one request, which is atomic, whichever of them the engine asks for first. A deploy that
  is killed leaves all of them or none (``CREATE_TOGETHER``). More than 8,000 take several requests.
- Topics follow when all ACLs exist, because a topic without ACLs is open to everyone on such a cluster. ACLs need no
  topic. If an ACL is refused, no topic is registered. For the same reason a topic depends on one of its ACLs there, so
  that it is deleted before that ACL.
- All other kinds depend on nothing. They change in place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kafka as kafka

from topicwarden.deploy.access_state import ACCESS_RESOURCES, DENIALS_TYPE, recorded_access
from topicwarden.deploy.lean_registration import LeanResource, known_output, prepare, register
from topicwarden.kinds.access_resource import ACCESS_SET_TYPE
from topicwarden.kinds.acl.resource import ACL_TYPE, CREATE_TOGETHER, acl_properties
from topicwarden.kinds.acl.resource import RESOURCE as ACL
from topicwarden.kinds.properties import secret
from topicwarden.kinds.scram_user.password_writes import NO_WRITES, PasswordWrites
from topicwarden.kinds.scram_user.resource import PROTECT_CREDENTIALS, credential_import_id
from topicwarden.model.access import ACLS, AccessSource, Acl, DeclaredAccess, DeployedAccess, PermissionType, ScramUser


@dataclass(frozen=True)
class AccessRegistration:
    """The declared access of a stack, and how it is registered with the engine.

    - ``passwords``: the password of each user, by name and mechanism.
    - ``deployed``: the access in the state. The record of what departs stays, in case that its deletion fails.
    - ``writes``: whose password the deploy writes, and whose it must not replace.
    - ``together``: the ACLs that the provider creates with the first one that the engine asks for.
    """

    access: DeclaredAccess
    passwords: Mapping[tuple[str, str], str] = field(default_factory=dict, repr=False)
    deployed: DeployedAccess = field(default_factory=DeployedAccess)
    writes: PasswordWrites = NO_WRITES
    together: Sequence[Acl] = ()


class _Denials(pulumi.ComponentResource):
    """The ACLs that deny: ALLOWs depend on them, so they are deleted last."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions) -> None:
        super().__init__(DENIALS_TYPE, name, None, opts)
        self.register_outputs({})


class AccessResources(pulumi.ComponentResource):
    """The access of a stack, each entry with a name that is a hash."""

    acls: Awaitable[None]
    """Done when the engine has created all ACLs. Raises RunError if one was refused."""
    done: pulumi.Output[None]
    """Known when the engine has registered everything."""

    def __init__(
        self, name: str, registration: AccessRegistration, *, root: Path, provider: kafka.Provider | None = None
    ) -> None:
        super().__init__(ACCESS_SET_TYPE, name)
        self._registration, self._root, self._kafka = registration, root, provider
        self._denials = None
        if any(acl.permission is PermissionType.DENY for acl in registration.access.acls):
            self._denials = _Denials(f"{name}/denials", pulumi.ResourceOptions(parent=self))
        self._prepared = asyncio.ensure_future(self._prepare())
        self.acls = asyncio.ensure_future(self._register_acls())
        self.done = known_output(self._registered())
        record = recorded_access(registration.access, registration.writes.written, registration.deployed)
        self.register_outputs({key: known_output(_known(value)) for key, value in record.items()})

    async def _prepare(self) -> None:
        if together := self._registration.together:
            await prepare(CREATE_TOGETHER, [acl_properties(acl) for acl in together], self._kafka)
        if protected := self._registration.writes.protected:
            await prepare(
                PROTECT_CREDENTIALS, [f"{user}|{mechanism}" for user, mechanism in sorted(protected)], self._kafka
            )

    async def _registered(self) -> None:
        await self._prepared
        await asyncio.gather(self.acls, register(self._others(), self._kafka, self._root))

    async def _register_acls(self) -> None:
        await self._prepared
        denials, acls = self._denials, self._registration.access.acls
        after: list[str] = []
        refused = 0
        if denials is not None:
            denied = {acl: sources for acl, sources in acls.items() if acl.permission is PermissionType.DENY}
            refused += await self._refused(_acls(denied, denials))
            after.append(str(await denials.urn.future()))
        allowed = {acl: sources for acl, sources in acls.items() if acl.permission is PermissionType.ALLOW}
        if not refused:
            refused = await self._refused(_acls(allowed, self, after))
        if refused:
            raise pulumi.RunError(f"{refused} ACLs were refused, so no topic is deployed: see the errors of these ACLs")

    async def _refused(self, acls: Iterable[LeanResource]) -> int:
        return sum(not outputs for outputs in await register(acls, self._kafka, self._root))

    def _others(self) -> Iterable[LeanResource]:
        access, registration = self._registration.access, self._registration
        for kind in ACCESS_RESOURCES:
            for key, value in access.part(kind.part).items() if kind.part != ACLS else ():
                properties, import_id = kind.properties(key, value), ""
                if isinstance(value, ScramUser):
                    import_id = credential_import_id(value) if key in registration.writes.adopted else ""
                    properties["passwordWo"] = secret(registration.passwords[key])
                location = access.location(kind.part, key)
                yield LeanResource(kind.type(key), kind.name(key), self, properties, location, import_id=import_id)


def _acls(
    acls: Mapping[Acl, tuple[AccessSource, ...]], parent: pulumi.Resource, dependencies: Iterable[str] = ()
) -> Iterable[LeanResource]:
    after = tuple(dependencies)
    for acl, sources in acls.items():
        location = sources[0].location if sources else None
        properties = acl_properties(acl)
        yield LeanResource(ACL_TYPE, ACL.name(acl), parent, properties, location, dependencies=after)


async def _known(value: Any) -> Any:
    return value
