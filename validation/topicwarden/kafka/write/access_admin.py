"""Creates, lists and deletes access control lists (ACLs), many with each request (KIP-117, KIP-290)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import astuple, dataclass
from typing import Final

from kafka import KafkaAdminClient
from kafka.admin import ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourceType
from kafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest

from topicwarden.kafka.connect.acl_words import FIELDS, words
from topicwarden.kafka.connect.client_internals import send_to_any_broker, send_to_broker
from topicwarden.kafka.connect.request_error import RequestError, error_of_code, raise_if_refused
from topicwarden.kafka.read.broker_visibility import wait_for_every_broker


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


def create_rules(admin: KafkaAdminClient, rules: Collection[AccessRule]) -> dict[AccessRule, RequestError]:
    """Create ``rules``; an existing one stays. Return the errors of those that were refused."""
    creations = [CreateAclsRequest.AclCreation(*_numbered(rule)) for rule in rules]
    answer = send_to_any_broker(admin, CreateAclsRequest(creations=creations))
    return {
        rule: error_of_code(result.error_code, result.error_message)
        for rule, result in zip(rules, answer.results, strict=True)
        if result.error_code
    }


def delete_rules(admin: KafkaAdminClient, rules: Collection[AccessRule]) -> dict[AccessRule, RequestError]:
    """Delete ``rules``; one that does not exist counts as deleted. Return the errors of those that were refused."""
    filters = [DeleteAclsRequest.DeleteAclsFilter(*_numbered(rule)) for rule in rules]
    answer = send_to_any_broker(admin, DeleteAclsRequest(filters=filters))
    return {
        rule: error_of_code(failed.error_code, failed.error_message)
        for rule, result in zip(rules, answer.filter_results, strict=True)
        for failed in (result, *(result.matching_acls or ()))
        if failed.error_code
    }


def list_rules(admin: KafkaAdminClient, broker: int | None = None) -> frozenset[AccessRule]:
    """Return all ACLs that ``broker`` knows; None for any broker.

    An ACL that kafka-python has no words for is left out, such as the operation ``TWO_PHASE_COMMIT`` (KIP-939).
    """
    everything = DescribeAclsRequest(
        resource_type_filter=ResourceType.ANY,
        resource_name_filter=None,
        pattern_type_filter=ACLResourcePatternType.ANY,
        principal_filter=None,
        host_filter=None,
        operation=ACLOperation.ANY,
        permission_type=ACLPermissionType.ANY,
    )
    answer = send_to_broker(admin, everything, broker)
    raise_if_refused(answer)
    return frozenset(
        AccessRule(
            acl.principal,
            acl.host,
            _WORDS["operation"][acl.operation],
            _WORDS["permission"][acl.permission_type],
            _WORDS["resource_type"][resource.resource_type],
            resource.resource_name,
            _WORDS["pattern_type"][resource.pattern_type],
        )
        for resource in answer.resources
        for acl in resource.acls
        if acl.operation in _WORDS["operation"] and resource.resource_type in _WORDS["resource_type"]
    )


def wait_for_rules(admin: KafkaAdminClient, rules: Collection[AccessRule], *, exist: bool) -> frozenset[AccessRule]:
    """Wait until every broker has all ``rules``, or none of them; return those for which one is late.

    See ``broker_visibility``.
    """

    def visible(broker: int, pending: Mapping[AccessRule, None]) -> Collection[AccessRule]:
        existing = list_rules(admin, broker)
        return [rule for rule in pending if (rule in existing) is exist]

    return wait_for_every_broker(admin, dict.fromkeys(rules), visible)


def _numbered(rule: AccessRule) -> tuple[int, str, int, str, str, int, int]:
    """Return the fields of ``rule`` with Kafka's numbers, in the order of ``AclCreation`` and ``DeleteAclsFilter``."""
    return (
        _NUMBERS["resource_type"][rule.resource_type],
        rule.resource_name,
        _NUMBERS["pattern_type"][rule.pattern_type],
        rule.principal,
        rule.host,
        _NUMBERS["operation"][rule.operation],
        _NUMBERS["permission"][rule.permission],
    )


_NUMBERS: Final = {field: {word: int(member) for word, member in words(field).items()} for field in FIELDS}
"""The number in Kafka's protocol for each word, by field."""
_WORDS: Final = {field: {number: word for word, number in numbers.items()} for field, numbers in _NUMBERS.items()}
