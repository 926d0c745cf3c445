"""Access as Pulumi resources, in an order that never opens a gap and locks nobody out.

Pulumi deletes what is no longer declared after it has created and updated everything else, so a grant that replaces
another one exists before the other one is revoked. The rest of the order is this module's:

- A DENY is created before the ALLOWs, and deleted after them, because an ALLOW without the DENY that restricts it
  grants too much. The other order would gain nothing: a DENY takes away what is declared to be taken away. A command
  that leaves out a new DENY (``--target``, ``--exclude``) deploys no ALLOW and no topic.
- With ``allow.everyone.if.no.acl.found``, the first ACL of a resource shuts out everyone whom no other one allows. So
  all new ACLs are created with one request, which is atomic, whichever of them the engine asks for first. A deploy that
  is killed leaves all of them or none (``CREATE_TOGETHER``). More than 8,000 take several requests. A command that
  leaves out some of them fails, in its preview if it has one.
- Topics follow when all ACLs exist, because a topic without ACLs is open to everyone on such a cluster. ACLs need no
  topic. If an ACL is refused, no topic is registered. For the same reason a topic depends on one of its ACLs there, so
  that it is deleted before that ACL.
- All other kinds depend on nothing. They change in place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kafka as kafka

from topicwarden.deploy.access_state import (
    ACCESS_RESOURCES,
    CREDENTIALS_TYPE,
    DENIALS_TYPE,
    WITH_SECRETS,
    recorded_access,
    recorded_iterations,
)
from topicwarden.deploy.lean_registration import LeanResource, Registered, known_output, prepare, register
from topicwarden.kinds.access_resource import ACCESS_SET_TYPE, AccessBefore
from topicwarden.kinds.acl.resource import ACL_TYPE, CREATE_TOGETHER, acl_of, acl_properties
from topicwarden.kinds.acl.resource import RESOURCE as ACL
from topicwarden.kinds.difference import has_values
from topicwarden.kinds.properties import secret
from topicwarden.model.access import ACLS, AccessKey, AccessSource, Acl, PermissionType


class _Denials(pulumi.ComponentResource):
    """The ACLs that deny: ALLOWs depend on them, so they are deleted last."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions) -> None:
        super().__init__(DENIALS_TYPE, name, None, opts)
        self.register_outputs({})


class _Credentials(pulumi.ComponentResource):
    """The record of the iterations of passwords. That of all access does not wait until they are written."""

    def __init__(self, name: str, iterations: pulumi.Output[dict[str, int]], opts: pulumi.ResourceOptions) -> None:
        super().__init__(CREDENTIALS_TYPE, name, None, opts)
        self.register_outputs({"iterations": iterations})


class AccessResources(pulumi.ComponentResource):
    """The access of a stack, each entry with a name that is a hash; ``secrets`` are those of entries, by key.

    The record of what departs stays in the state, in case that its deletion fails.
    """

    acls: Awaitable[None]
    """Done when the engine has created all ACLs. Raises RunError if one was refused, or must not be left out."""
    done: pulumi.Output[None]
    """Known when the engine has registered everything."""

    def __init__(
        self,
        name: str,
        access: AccessBefore,
        secrets: Mapping[AccessKey, str],
        *,
        root: Path,
        provider: kafka.Provider | None = None,
    ) -> None:
        super().__init__(ACCESS_SET_TYPE, name)
        self._access, self._secrets, self._root, self._kafka = access.declared, secrets, root, provider
        self._writes = {kind.part: kind.writes(access) for kind in ACCESS_RESOURCES}
        together = self._writes[ACLS].prepare.get(CREATE_TOGETHER, ())
        self._together = frozenset(map(acl_of, together)) - access.deployed.acls
        self._denials = None
        if any(acl.permission is PermissionType.DENY for acl in self._access.acls):
            self._denials = _Denials(f"{name}/denials", pulumi.ResourceOptions(parent=self))
        self._prepared = asyncio.ensure_future(self._prepare())
        self.acls = asyncio.ensure_future(self._register_acls())
        self._others_done = asyncio.ensure_future(self._register_others())
        self.done = known_output(self._registered())
        written = {key for each in self._writes.values() for key in each.written}
        record = recorded_access(self._access, written, access.deployed)
        self.register_outputs({key: known_output(_known(value)) for key, value in record.items()})
        if written:
            _Credentials(name, known_output(self._iterations()), pulumi.ResourceOptions(parent=self))

    async def _prepare(self) -> None:
        for each in self._writes.values():
            for function, value in each.prepare.items():
                if value:
                    await prepare(function, value, self._kafka)

    async def _registered(self) -> None:
        await asyncio.gather(self.acls, self._others_done)

    async def _register_others(self) -> dict[str, Registered]:
        """Register everything but ACLs; return the engine's answers by the name of the resource."""
        await self._prepared
        others = list(self._others())
        answers = await register(others, self._kafka, self._root)
        return {each.name: answer for each, answer in zip(others, answers, strict=True)}

    async def _iterations(self) -> dict[str, int]:
        """Return the record of the iterations of passwords, when they are written: a write may fail."""
        written = {key: number for each in self._writes.values() for key, number in each.written.items()}
        await asyncio.wait([self._others_done])
        answers = {} if self._others_done.exception() else self._others_done.result()
        for kind, _ in WITH_SECRETS:
            for key, number in self._writes[kind.part].replaced.items():
                answer = answers.get(kind.name(key))
                properties = kind.properties(key, self._access.part(kind.part)[key])
                if answer is None or answer.failed or not has_values(properties, answer.outputs):
                    del written[key]
                    written |= {} if number is None else {key: number}
        return recorded_iterations(self._access, written)

    async def _register_acls(self) -> None:
        await self._prepared
        denials, acls = self._denials, self._access.acls
        after: list[str] = []
        if denials is not None:
            denied = {acl: sources for acl, sources in acls.items() if acl.permission is PermissionType.DENY}
            if left_out := await self._left_out(denied, denials):
                raise pulumi.RunError(
                    f"this command does not create {len(left_out)} declared ACLs that deny, and others may grant too "
                    "much without them, so it deploys no other ACL and no topic: deploy them too, or first "
                    "(`--target`, `--exclude`)"
                )
            after.append(str(await denials.urn.future()))
        allowed = {acl: sources for acl, sources in acls.items() if acl.permission is PermissionType.ALLOW}
        left_out = self._together & await self._left_out(allowed, self, after)
        if left_out and left_out != self._together:
            raise pulumi.RunError(
                "new ACLs are created together, because resources without an ACL may be open to everyone, also the "
                f"{len(left_out)} that this command leaves out (`--target`, `--exclude`), so no topic is deployed: "
                "deploy all of them"
            )

    async def _left_out(
        self, acls: Mapping[Acl, tuple[AccessSource, ...]], parent: pulumi.Resource, after: Iterable[str] = ()
    ) -> frozenset[Acl]:
        """Register ``acls``; return those that are no targets of the command. Raises RunError if one is refused."""
        registered = await register(_acls(acls, parent, after), self._kafka, self._root)
        if refused := sum(each.failed for each in registered):
            raise pulumi.RunError(f"{refused} ACLs were refused, so no topic is deployed: see the errors of these ACLs")
        return frozenset(acl for acl, each in zip(acls, registered, strict=True) if each.left_out)

    def _others(self) -> Iterable[LeanResource]:
        for kind in ACCESS_RESOURCES:
            import_ids = self._writes[kind.part].import_ids
            for key, value in self._access.part(kind.part).items() if kind.part != ACLS else ():
                properties, import_id = kind.properties(key, value), import_ids.get(key, "")
                if kind.secret is not None:
                    properties[kind.secret.name] = secret(self._secrets[key])
                location = self._access.location(kind.part, key)
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
