"""Creates, lists and deletes access control lists (ACLs), many with each request (KIP-117, KIP-290)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from enum import IntEnum
from typing import Any, Final

from kafka import KafkaAdminClient
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from kafka.protocol.admin import CreateAclsRequest

from topicwarden.kafka.client_internals import send_to_any_broker
from topicwarden.kafka.request_error import RequestError, error_of_code, request_error

_ANY: Final = ("UNKNOWN", "ANY", "MATCH")


@dataclass(frozen=True)
class AccessRule:
    """One ACL in the words of Kafka's Java classes, such as ``Topic``, ``Prefixed`` and ``IdempotentWrite``."""

    principal: str
    host: str
    operation: str
    permission: str
    resource_type: str
    resource_name: str
    pattern_type: str

    def __str__(self) -> str:
        return "|".join(astuple(self))


_WORDS: Final[Mapping[str, type[IntEnum]]] = {
    "operation": ACLOperation,
    "permission": ACLPermissionType,
    "resource_type": ResourceType,
    "pattern_type": ACLResourcePatternType,
}


def words(field: str) -> dict[str, IntEnum]:
    """Return the words that a field of ``AccessRule`` may have, and what kafka-python calls them."""
    return {_word(member.name): member for member in _WORDS[field] if member.name not in _ANY}


def create_rules(admin: KafkaAdminClient, rules: Sequence[AccessRule]) -> dict[AccessRule, RequestError]:
    """Create ``rules``; an existing one stays. Return the errors of those that were refused."""
    creations = [admin._convert_create_acls_resource_request(_acl(rule)) for rule in rules]
    answer = send_to_any_broker(admin, CreateAclsRequest(creations=creations))
    return {
        rule: error_of_code(result.error_code, result.error_message)
        for rule, result in zip(rules, answer.results, strict=True)
        if result.error_code
    }


def delete_rules(admin: KafkaAdminClient, rules: Sequence[AccessRule]) -> dict[AccessRule, RequestError]:
    """Delete ``rules``; one that does not exist counts as deleted. Return the errors of those that were refused."""
    deleted = admin.delete_acls([_acl(rule) for rule in rules])
    return {
        rule: request_error(error())
        for rule, (_, _, error) in zip(rules, deleted, strict=True)
        if error.errno  # NoError has the number 0
    }


def list_rules(admin: KafkaAdminClient) -> frozenset[AccessRule]:
    """Return all ACLs of the cluster."""
    everything = ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY)
    acls, error = admin.describe_acls(ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, everything))
    if error.errno:
        raise request_error(error())
    return frozenset(map(_rule, acls))


def _acl(rule: AccessRule) -> ACL:
    member: dict[str, Any] = {field: words(field)[getattr(rule, field)] for field in _WORDS}
    pattern = ResourcePattern(member["resource_type"], rule.resource_name, member["pattern_type"])
    return ACL(rule.principal, rule.host, member["operation"], member["permission"], pattern)


def _rule(acl: ACL) -> AccessRule:
    pattern = acl.resource_pattern
    return AccessRule(
        acl.principal,
        acl.host,
        _word(acl.operation.name),
        _word(acl.permission_type.name),
        _word(pattern.resource_type.name),
        pattern.resource_name,
        _word(pattern.pattern_type.name),
    )


def _word(name: str) -> str:
    """Return ``IdempotentWrite`` for ``IDEMPOTENT_WRITE``; ``TransactionalID`` has two capitals in the provider."""
    return "".join(part.capitalize() for part in name.split("_")).replace("TransactionalId", "TransactionalID")
