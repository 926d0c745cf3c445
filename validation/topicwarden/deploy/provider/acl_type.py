"""``kafka:index/acl:Acl``: who may do what with which topics, groups and other resources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from topicwarden.deploy.provider.batches import Batches
from topicwarden.deploy.provider.engine_calls import EngineCalls
from topicwarden.deploy.provider.properties import Properties
from topicwarden.deploy.provider.resource_type import PropertyType, ResourceType
from topicwarden.kafka.access_admin import AccessRule, create_rules, delete_rules, list_rules, wait_for_rules, words
from topicwarden.kafka.admin_session import AdminSession
from topicwarden.kafka.request_error import RequestError

_BATCH: Final = 1_000


def _one_of(field: str) -> Callable[[str], str | None]:
    def check(value: str) -> str | None:
        known = words(field)
        return None if value in known else f"expected one of {', '.join(known)}, seen {value}"

    return check


ACL: Final[ResourceType] = ResourceType(
    token="kafka:index/acl:Acl",
    properties={
        "aclPrincipal": PropertyType(required=True, replaces=True),
        "aclHost": PropertyType(required=True, replaces=True),
        "aclOperation": PropertyType(required=True, replaces=True, check=_one_of("operation")),
        "aclPermissionType": PropertyType(required=True, replaces=True, check=_one_of("permission")),
        "aclResourceType": PropertyType(required=True, replaces=True, check=_one_of("resource_type")),
        "aclResourceName": PropertyType(required=True, replaces=True),
        "resourcePatternTypeFilter": PropertyType(
            replaces=True, default="Literal", default_in_inputs=True, check=_one_of("pattern_type")
        ),
    },
    id_of=lambda properties: "|".join(properties[key] for key in ACL.properties),
    raw_state=lambda _: {"obj": {"renamed": {"aclResourceName": "resource_name", "aclResourceType": "resource_type"}}},
    meta='{"schema_version":"1"}',
)


class Acls:
    """The ACLs of one cluster. The id of an ACL is its properties, with ``|`` between them."""

    def __init__(self, session: AdminSession, calls: EngineCalls) -> None:
        self._session = session
        self._creates = Batches(self._create, _BATCH, calls=calls)
        self._deletes = Batches(self._delete, _BATCH, calls=calls)
        self._reads = Batches(self._read, _BATCH, calls=calls)

    async def create(self, inputs: Properties) -> None:
        """Create an ACL; one that exists counts as created."""
        await self._creates.submit(AccessRule(*(inputs[key] for key in ACL.properties)), None)

    async def update(self, id: str, olds: Properties, news: Properties) -> None:
        raise AssertionError("every property of an ACL replaces it")

    async def read(self, id: str, declared: Properties | None) -> Properties | None:
        """Return the properties of the ACL with this id, or None if it does not exist."""
        values = id.split("|")
        if len(values) != len(ACL.properties):
            raise ValueError(f"the id of an ACL has {len(ACL.properties)} parts: {'|'.join(ACL.properties)}; seen {id}")
        found = await self._reads.submit(AccessRule(*values), None)
        return dict(zip(ACL.properties, values, strict=True)) if found else None

    async def delete(self, id: str) -> None:
        """Delete the ACL with this id; one that does not exist counts as deleted."""
        await self._deletes.submit(AccessRule(*id.split("|")), None)

    def _create(self, rules: Mapping[AccessRule, None]) -> Mapping[AccessRule, Exception | None]:
        return self._written(rules, self._session.request(create_rules, list(rules)), exist=True)

    def _delete(self, rules: Mapping[AccessRule, None]) -> Mapping[AccessRule, Exception | None]:
        return self._written(rules, self._session.request(delete_rules, list(rules)), exist=False)

    def _written(
        self, rules: Mapping[AccessRule, None], errors: Mapping[AccessRule, RequestError], *, exist: bool
    ) -> Mapping[AccessRule, Exception | None]:
        self._session.request(wait_for_rules, rules.keys() - errors.keys(), exist=exist)
        return {rule: errors.get(rule) for rule in rules}

    def _read(self, rules: Mapping[AccessRule, None]) -> Mapping[AccessRule, bool]:
        existing = self._session.request(list_rules)
        return {rule: rule in existing for rule in rules}
