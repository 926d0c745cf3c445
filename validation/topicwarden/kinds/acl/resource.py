"""``kafka:index/acl:Acl``: who may do what with which topics, groups and other resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from topicwarden.kafka.read.authorizer_reads import list_acls
from topicwarden.kafka.write.access_admin import create_acls, delete_acls, wait_for_acls
from topicwarden.kafka.write.admin_session import AdminSession
from topicwarden.kinds.access_resource import AccessBefore, AccessResource, KindWrites
from topicwarden.kinds.announced_writes import Announce, Intent
from topicwarden.kinds.batches import Batches, EngineCalls
from topicwarden.kinds.properties import Properties
from topicwarden.kinds.resource_type import PropertyType, PulumiType, one_of
from topicwarden.model.access import ACLS, WILDCARD, Acl, Operation, PatternType, PermissionType, ResourceType
from topicwarden.model.topic import AllowedChange

ACL_TYPE: Final = "kafka:index/acl:Acl"
ACL_PROPERTIES: Final = (
    "aclPrincipal",
    "aclHost",
    "aclOperation",
    "aclPermissionType",
    "aclResourceType",
    "aclResourceName",
    "resourcePatternTypeFilter",
)
"""The properties of an ACL, in the order of the fields of ``Acl``."""
_OFFICIAL_WORDS: Final = {ResourceType.TRANSACTIONAL_ID.value: "TransactionalID"}
"""Words of the official provider that differ from those of Kafka's Java classes."""
ACL_RESOURCE_TYPES: Final = {_OFFICIAL_WORDS.get(kind, kind.value): kind for kind in ResourceType}
"""The types of resources by the words of the official provider."""
_RECORDS: Final = 8_000
"""ACLs of one request. The controller refuses more than 10,000 (``MAX_RECORDS_PER_USER_OP``, KIP-919)."""
_READ: Final = 100_000
_COMPARISONS: Final = 1_000_000
"""The controller compares each deletion with each ACL of the cluster, which takes it about a microsecond.

It does nothing else during a request (``AclControlManager.deleteAcls``), and fences brokers if that takes seconds.
"""
_FEWEST_DELETED: Final = 10

CREATE_TOGETHER: Final = "kafka:index:createTogether"
"""A function that only this provider has: the first ACLs of a resource are created with one request."""


def acl_properties(acl: Acl) -> dict[str, str]:
    """Return the properties of the resource of ``acl``."""
    values = (
        acl.principal,
        acl.host,
        acl.operation.value,
        acl.permission.value,
        _OFFICIAL_WORDS.get(acl.resource_type, acl.resource_type.value),
        acl.resource_name,
        acl.pattern_type.value,
    )
    return dict(zip(ACL_PROPERTIES, values, strict=True))


def acl_of(properties: Mapping[str, Any]) -> Acl:
    """Return the ACL of a resource with ``properties``."""
    principal, host, operation, permission, kind, name, pattern = (str(properties[key]) for key in ACL_PROPERTIES)
    return Acl(
        principal,
        host,
        Operation(operation),
        PermissionType(permission),
        ACL_RESOURCE_TYPES[kind],
        name,
        PatternType(pattern),
    )


ACL: Final[PulumiType] = PulumiType(
    token=ACL_TYPE,
    properties={
        "aclPrincipal": PropertyType(required=True, replaces=True),
        "aclHost": PropertyType(required=True, replaces=True),
        "aclOperation": PropertyType(required=True, replaces=True, check=one_of([*Operation])),
        "aclPermissionType": PropertyType(required=True, replaces=True, check=one_of([*PermissionType])),
        "aclResourceType": PropertyType(required=True, replaces=True, check=one_of(ACL_RESOURCE_TYPES)),
        "aclResourceName": PropertyType(required=True, replaces=True),
        "resourcePatternTypeFilter": PropertyType(
            replaces=True, default="Literal", default_in_inputs=True, check=one_of([*PatternType])
        ),
    },
    id_of=lambda properties: "|".join(properties[key] for key in ACL.properties),
    raw_state=lambda _: {"obj": {"renamed": {"aclResourceName": "resource_name", "aclResourceType": "resource_type"}}},
    meta='{"schema_version":"1"}',
    title=lambda properties: str(acl_of(properties)),
    permission="Alter on the cluster",
)


class Acls:
    """The ACLs of one cluster. The id of an ACL is its properties, with ``|`` between them.

    A request of creations is atomic (``AclControlManager``). Brokers apply its ACLs one after another, in its order,
    within microseconds: a DENY before the ALLOWs that it restricts, and the other way round when they are deleted.
    ``announce`` records the names of the resources that are about to be written.
    """

    def __init__(self, session: AdminSession, calls: EngineCalls, announce: Announce) -> None:
        self._session, self._announce = session, announce
        self._together: dict[Acl, None] = {}
        self._creates = Batches[Acl, None, None](self._create, _RECORDS, calls=calls)
        self._deletes = Batches[Acl, None, None](self._delete, _RECORDS, calls=calls)
        self._reads = Batches[Acl, None, bool](
            lambda _: dict.fromkeys(session.request(list_acls).acls, True), _READ, calls=calls
        )

    def create_together(self, acls: Iterable[Properties]) -> None:
        """Create all of ``acls`` as soon as the engine asks for one of them."""
        self._together = dict.fromkeys(map(acl_of, acls))

    async def create(self, inputs: Properties) -> None:
        """Create an ACL; one that exists counts as created."""
        await self._creates.submit(acl_of(inputs), None)

    async def update(self, id: str, olds: Properties, news: Properties) -> None:
        raise AssertionError("every property of an ACL replaces it")

    async def read(self, id: str, declared: Properties | None) -> Properties | None:
        """Return the properties of the ACL with this id, or None if it does not exist."""
        properties = {key: declared[key] for key in ACL_PROPERTIES} if declared else parsed_acl_id(id)
        found = await self._reads.submit(acl_of(properties), None)
        return properties if found else None

    async def delete(self, id: str, properties: Properties) -> None:
        """Delete the ACL with these ``properties``; one that does not exist counts as deleted."""
        await self._deletes.submit(acl_of(properties), None)

    def _create(self, acls: Mapping[Acl, None]) -> Mapping[Acl, Exception | None]:
        together, self._together = (self._together, {}) if acls.keys() & self._together.keys() else ({}, self._together)
        ordered = sorted({**acls, **together}, key=_denials_first)
        self._announce(Intent.CREATE, map(RESOURCE.name, ordered))
        errors: dict[Acl, Exception | None] = {}
        for start in range(0, len(ordered), _RECORDS):
            batch = dict.fromkeys(ordered[start : start + _RECORDS])
            errors |= self._session.write(create_acls, partial(wait_for_acls, exist=True), batch)
        return errors

    def _delete(self, acls: Mapping[Acl, None]) -> Mapping[Acl, Exception | None]:
        ordered = sorted(acls, key=_denials_first, reverse=True)
        self._announce(Intent.DELETE, map(RESOURCE.name, ordered))
        existing = len(self._session.request(list_acls).acls) if len(ordered) > _FEWEST_DELETED else 0
        size = max(_FEWEST_DELETED, _COMPARISONS // max(existing, 1))
        errors: dict[Acl, Exception | None] = {}
        for start in range(0, len(ordered), size):
            self._session.writing_admin()
            errors |= self._session.request(delete_acls, ordered[start : start + size])
        deleted = dict.fromkeys(acl for acl in ordered if acl not in errors)
        self._session.request(partial(wait_for_acls, exist=False), deleted)
        return errors


def _denials_first(acl: Acl) -> tuple[bool, Acl]:
    return acl.permission is not PermissionType.DENY, acl


def parsed_acl_id(id: str) -> Properties:
    """Return the properties in the id of an ACL, whose principal and name may contain ``|``."""
    parts = id.split("|")
    found = [
        ["|".join(parts[: at - 1]), *parts[at - 1 : at + 3], "|".join(parts[at + 3 : -1]), parts[-1]]
        for at in range(2, len(parts) - 4)
        if parts[at] in [*Operation]
        and parts[at + 1] in [*PermissionType]
        and parts[at + 2] in ACL_RESOURCE_TYPES
        and parts[-1] in [*PatternType]
    ]
    if len(found) != 1:
        raise ValueError(f"the id of an ACL has {len(ACL_PROPERTIES)} parts: {'|'.join(ACL_PROPERTIES)}; got {id}")
    return dict(zip(ACL_PROPERTIES, found[0], strict=True))


def _allowance(acl: Acl) -> AllowedChange:
    return AllowedChange.OPEN_ACCESS if acl.permission is PermissionType.DENY else AllowedChange.REVOKE_ACCESS


def _open_without_acl(access: AccessBefore) -> bool:
    """Return whether resources that no ACL matches are open to everyone, or whether the brokers do not tell."""
    settings = (access.live.settings or {}).values()
    return not settings or any(each.open_without_acl is not False for each in settings)


def _writes(access: AccessBefore) -> KindWrites:
    """Create the new ACLs together if resources that no ACL matches may be open to everyone.

    The first ACL of a resource shuts out everyone whom no other one allows, so all of them must come together.
    """
    new = sorted(access.declared.acls.keys() - (access.live.acls or frozenset())) if _open_without_acl(access) else []
    return KindWrites({CREATE_TOGETHER: [acl_properties(acl) for acl in new]})


def last_acls(access: AccessBefore, topics: Iterable[str]) -> dict[str, Acl]:
    """Return a declared ACL that must be deleted later than each of ``topics``, if topics without ACLs may be open.

    Otherwise a topic that is deleted together with its ACLs would be open to everyone for a moment.
    """
    if not _open_without_acl(access):
        return {}
    allowed = sorted(
        acl
        for acl in access.declared.acls
        if acl.resource_type is ResourceType.TOPIC and acl.permission is PermissionType.ALLOW
    )
    literal = {acl.resource_name: acl for acl in allowed if acl.pattern_type is PatternType.LITERAL}
    prefixed = [acl for acl in allowed if acl.pattern_type is PatternType.PREFIXED]
    found = {topic: _matching(topic, literal, prefixed) for topic in topics}
    return {topic: acl for topic, acl in found.items() if acl is not None}


def _matching(topic: str, literal: Mapping[str, Acl], prefixed: Iterable[Acl]) -> Acl | None:
    by_prefix = (acl for acl in prefixed if topic.startswith(acl.resource_name))
    return literal.get(topic) or next(by_prefix, None) or literal.get(WILDCARD)


RESOURCE: Final = AccessResource(
    ACLS,
    (ACL,),
    lambda acl: acl_properties(acl).values(),
    lambda acl, _: acl_properties(acl),
    acl_of,
    lambda _: True,
    lambda target: Acls(*target.cluster),
    _allowance,
    functions={CREATE_TOGETHER: Acls.create_together},
    writes=_writes,
)
