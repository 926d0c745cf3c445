"""``kafka:index/acl:Acl``: who may do what with which topics, groups and other resources."""

from __future__ import annotations

from functools import partial
from typing import Final

from topicwarden.deploy.provider.batches import Batches, EngineCalls
from topicwarden.deploy.provider.properties import Properties
from topicwarden.deploy.provider.resource_type import PropertyType, ResourceType, one_of
from topicwarden.kafka.connect.acl_words import words
from topicwarden.kafka.write.access_admin import (
    AccessRule,
    create_rules,
    delete_rules,
    list_rules,
    wait_for_rules,
)
from topicwarden.kafka.write.admin_session import AdminSession

_BATCH: Final = 1_000


ACL: Final[ResourceType] = ResourceType(
    token="kafka:index/acl:Acl",
    properties={
        "aclPrincipal": PropertyType(required=True, replaces=True),
        "aclHost": PropertyType(required=True, replaces=True),
        "aclOperation": PropertyType(required=True, replaces=True, check=one_of(words("operation"))),
        "aclPermissionType": PropertyType(required=True, replaces=True, check=one_of(words("permission"))),
        "aclResourceType": PropertyType(required=True, replaces=True, check=one_of(words("resource_type"))),
        "aclResourceName": PropertyType(required=True, replaces=True),
        "resourcePatternTypeFilter": PropertyType(
            replaces=True, default="Literal", default_in_inputs=True, check=one_of(words("pattern_type"))
        ),
    },
    id_of=lambda properties: "|".join(properties[key] for key in ACL.properties),
    raw_state=lambda _: {"obj": {"renamed": {"aclResourceName": "resource_name", "aclResourceType": "resource_type"}}},
    meta='{"schema_version":"1"}',
)


class Acls:
    """The ACLs of one cluster. The id of an ACL is its properties, with ``|`` between them."""

    def __init__(self, session: AdminSession, calls: EngineCalls) -> None:
        created, deleted = partial(wait_for_rules, exist=True), partial(wait_for_rules, exist=False)
        self._creates = Batches[AccessRule, None, None](
            lambda rules: session.write(create_rules, created, rules), _BATCH, calls=calls
        )
        self._deletes = Batches[AccessRule, None, None](
            lambda rules: session.write(delete_rules, deleted, rules), _BATCH, calls=calls
        )
        self._reads = Batches[AccessRule, None, bool](
            lambda _: dict.fromkeys(session.request(list_rules), True), _BATCH, calls=calls
        )

    async def create(self, inputs: Properties) -> None:
        """Create an ACL; one that exists counts as created."""
        await self._creates.submit(AccessRule(*(inputs[key] for key in ACL.properties)), None)

    async def update(self, id: str, olds: Properties, news: Properties) -> None:
        raise AssertionError("every property of an ACL replaces it")

    async def read(self, id: str, declared: Properties | None) -> Properties | None:
        """Return the properties of the ACL with this id, or None if it does not exist."""
        values = id.split("|")
        if len(values) != len(ACL.properties):
            raise ValueError(f"the id of an ACL has {len(ACL.properties)} parts: {'|'.join(ACL.properties)}; got {id}")
        found = await self._reads.submit(AccessRule(*values), None)
        return dict(zip(ACL.properties, values, strict=True)) if found else None

    async def delete(self, id: str) -> None:
        """Delete the ACL with this id; one that does not exist counts as deleted."""
        await self._deletes.submit(AccessRule(*id.split("|")), None)
