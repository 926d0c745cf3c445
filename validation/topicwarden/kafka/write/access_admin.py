"""Creates and deletes access control lists (ACLs), many with each request (KIP-117, KIP-290)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from kafka import KafkaAdminClient
from kafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest

from topicwarden.kafka.connect.client_internals import send_to_any_broker, send_to_broker
from topicwarden.kafka.connect.request_error import RequestError, error_of_code, raise_if_refused
from topicwarden.kafka.read.acl_reads import OPERATIONS, PATTERN_TYPES, PERMISSIONS, RESOURCE_TYPES, list_acls
from topicwarden.kafka.read.broker_visibility import wait_for_every_broker
from topicwarden.model.access import Acl

_ONE_BY_ONE: Final = 4
"""ACLs up to which each one is asked for by itself."""


def create_acls(admin: KafkaAdminClient, acls: Collection[Acl]) -> dict[Acl, RequestError]:
    """Create ``acls``; an existing one stays. Return the errors of those that were refused."""
    creations = [CreateAclsRequest.AclCreation(*_numbered(acl)) for acl in acls]
    answer = send_to_any_broker(admin, CreateAclsRequest(creations=creations))
    return {
        acl: error_of_code(result.error_code, result.error_message)
        for acl, result in zip(acls, answer.results, strict=True)
        if result.error_code
    }


def delete_acls(admin: KafkaAdminClient, acls: Collection[Acl]) -> dict[Acl, RequestError]:
    """Delete ``acls``; one that does not exist counts as deleted. Return the errors of those that were refused."""
    filters = [DeleteAclsRequest.DeleteAclsFilter(*_numbered(acl)) for acl in acls]
    answer = send_to_any_broker(admin, DeleteAclsRequest(filters=filters))
    return {
        acl: error_of_code(failed.error_code, failed.error_message)
        for acl, result in zip(acls, answer.filter_results, strict=True)
        for failed in (result, *(result.matching_acls or ()))
        if failed.error_code
    }


def wait_for_acls(admin: KafkaAdminClient, acls: Collection[Acl], *, exist: bool) -> frozenset[Acl]:
    """Wait until every broker has all ``acls``, or none of them; return those for which one is late.

    See ``broker_visibility``.
    """

    def visible(broker: int, pending: Mapping[Acl, None]) -> Collection[Acl]:
        one_by_one = len(pending) <= _ONE_BY_ONE  # a cluster may have ten thousands of others
        existing = (
            {acl for acl in pending if _exists(admin, acl, broker)} if one_by_one else list_acls(admin, broker).acls
        )
        return [acl for acl in pending if (acl in existing) is exist]

    return wait_for_every_broker(admin, dict.fromkeys(acls), visible)


def _exists(admin: KafkaAdminClient, acl: Acl, broker: int) -> bool:
    answer = send_to_broker(admin, DescribeAclsRequest(*_numbered(acl)), broker)
    raise_if_refused(answer)
    return bool(answer.resources)


def _numbered(acl: Acl) -> tuple[int, str, int, str, str, int, int]:
    """Return the fields of ``acl`` with Kafka's numbers, in the order of creations and filters."""
    return (
        RESOURCE_TYPES[acl.resource_type],
        acl.resource_name,
        PATTERN_TYPES[acl.pattern_type],
        acl.principal,
        acl.host,
        OPERATIONS[acl.operation],
        PERMISSIONS[acl.permission],
    )
