"""The types and names of the resources of access, as the kinds define them."""

from __future__ import annotations

from topicwarden.kinds.acl.resource import ACL_TYPE, acl_of, acl_properties
from topicwarden.kinds.acl.resource import RESOURCE as ACLS
from topicwarden.kinds.group_config.resource import GROUP_CONFIG_TYPE
from topicwarden.kinds.group_config.resource import RESOURCE as GROUP_CONFIGS
from topicwarden.kinds.quota.levels import QuotaEntity
from topicwarden.kinds.quota.resource import CLIENT_QUOTA_TYPE, QUOTA_TYPE, quota_entity_of, quota_properties
from topicwarden.kinds.quota.resource import RESOURCE as QUOTAS
from topicwarden.kinds.scram_user.resource import RESOURCE as USERS
from topicwarden.kinds.scram_user.resource import SCRAM_TYPE, user_properties
from topicwarden.model.access import AccessKey, Acl

__all__ = [
    "ACL_TYPE",
    "CLIENT_QUOTA_TYPE",
    "GROUP_CONFIG_TYPE",
    "QUOTA_TYPE",
    "SCRAM_TYPE",
    "acl_of",
    "acl_properties",
    "quota_entity_of",
    "quota_properties",
    "user_properties",
]


def acl_name(acl: Acl) -> str:
    return ACLS.name(acl)


def quota_name(entity: QuotaEntity) -> str:
    return QUOTAS.name(entity)


def quota_type(entity: QuotaEntity) -> str:
    return QUOTAS.type(entity)


def user_name(user: str, mechanism: str) -> str:
    return USERS.name((user, mechanism))


def group_name(group: str) -> str:
    return GROUP_CONFIGS.name(group)


def resource_name(key: AccessKey) -> str:
    """Return the name of the resource of an entry, whose kind follows from the type of its key."""
    if isinstance(key, Acl):
        return acl_name(key)
    if isinstance(key, str):
        return group_name(key)
    kind = USERS if isinstance(key, tuple) and isinstance(key[0], str) else QUOTAS
    return kind.name(key)
