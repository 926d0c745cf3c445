"""Reads the ACLs of a cluster (KIP-117, KIP-290), and the settings of its authorizer, as far as brokers show them.

Brokers show the class of their authorizer. They show whether ``super.users`` and ``allow.everyone.if.no.acl.found``
are set, but not the values: these are settings of the authorizer, which ``KafkaConfig`` does not know and therefore
treats as sensitive. A setting that is not set has the default of Kafka's own authorizers. The value of
``allow.everyone.if.no.acl.found`` also shows in what this user may do with a resource that no ACL matches.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType
from kafka.errors import GroupAuthorizationFailedError, KafkaError, TopicAuthorizationFailedError, for_code
from kafka.protocol.admin import (
    DescribeAclsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
)
from kafka.protocol.metadata import MetadataRequest

from topicwarden.kafka.connect.client_internals import send_to_broker
from topicwarden.kafka.connect.request_errors import raise_if_refused
from topicwarden.kafka.read.broker_visibility import living_brokers
from topicwarden.kafka_facts.access.operations import SUPPORTED_OPERATIONS
from topicwarden.model.access import (
    Acl,
    AuthorizerSettings,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourceType,
)

# kafka-python has fewer numbers: it lacks the operation TWO_PHASE_COMMIT (KIP-939).
ANY: Final = 1
"""Matches every value of a part, in a filter."""

OPERATIONS: Final[Mapping[Operation, int]] = {operation: number for number, operation in enumerate(Operation, 2)}
RESOURCE_TYPES: Final[Mapping[ResourceType, int]] = {kind: number for number, kind in enumerate(ResourceType, 2)}
PATTERN_TYPES: Final[Mapping[PatternType, int]] = {PatternType.LITERAL: 3, PatternType.PREFIXED: 4}
PERMISSIONS: Final[Mapping[PermissionType, int]] = {PermissionType.DENY: 2, PermissionType.ALLOW: 3}
_OPERATIONS: Final = {number: operation for operation, number in OPERATIONS.items()}
_TYPES: Final = {number: kind for kind, number in RESOURCE_TYPES.items()}
_PATTERNS: Final = {number: pattern for pattern, number in PATTERN_TYPES.items()}
_PERMISSIONS: Final = {number: permission for permission, number in PERMISSIONS.items()}


@dataclass(frozen=True)
class AclListing:
    """All ACLs of a cluster. ``unknown`` is the number of ACLs with a type or operation that this version lacks."""

    acls: frozenset[Acl]
    unknown: int


def list_acls(admin: KafkaAdminClient, broker: int | None = None) -> AclListing:
    """Return the ACLs that ``broker`` knows; None for any broker. Needs Describe on the Cluster resource.

    Raises KafkaError, such as SecurityDisabledError if the broker has no authorizer.
    """
    everything = DescribeAclsRequest(
        resource_type_filter=ANY,
        resource_name_filter=None,
        pattern_type_filter=ANY,
        principal_filter=None,
        host_filter=None,
        operation=ANY,
        permission_type=ANY,
    )
    answer = send_to_broker(admin, everything, broker)
    raise_if_refused(answer)
    acls: list[Acl] = []
    unknown = 0
    for resource in answer.resources:
        kind, pattern = _TYPES.get(resource.resource_type), _PATTERNS.get(resource.pattern_type)
        for acl in resource.acls:
            operation, permission = _OPERATIONS.get(acl.operation), _PERMISSIONS.get(acl.permission_type)
            if kind is None or pattern is None or operation is None or permission is None:
                unknown += 1
                continue
            acls.append(Acl(acl.principal, acl.host, operation, permission, kind, resource.resource_name, pattern))
    return AclListing(frozenset(acls), unknown)


CLASS, SUPER_USERS, OPEN_WITHOUT_ACL = "authorizer.class.name", "super.users", "allow.everyone.if.no.acl.found"
KAFKAS_OWN: Final = frozenset(
    {"org.apache.kafka.metadata.authorizer.StandardAuthorizer", "kafka.security.authorizer.AclAuthorizer"}
)
"""The authorizers of Apache Kafka, with KRaft and with ZooKeeper."""

_PROBE: Final = "topicwarden-probe-of-a-resource-without-acls"
_OF_TOPICS, _OF_CLUSTER = (
    frozenset(OPERATIONS[operation] for operation in SUPPORTED_OPERATIONS[kind])
    for kind in (ResourceType.TOPIC, ResourceType.CLUSTER)
)
"""The operations of a resource, which a broker reports to a user who may do everything (``AclEntry``)."""
_PROBED_TOPICS: Final = 100


def read_authorizer_settings(admin: KafkaAdminClient) -> dict[int, AuthorizerSettings]:
    """Return the authorizer's settings by living broker. A value that the broker does not show is None.

    A broker that does not answer is left out. Raises KafkaError if none answers, or if DescribeConfigs on the Cluster
    resource is denied.
    """
    found: dict[int, AuthorizerSettings] = {}
    failure: KafkaError | None = None
    for broker in living_brokers(admin):
        request = DescribeConfigsRequest(
            resources=[(ConfigResourceType.BROKER, str(broker), [CLASS, SUPER_USERS, OPEN_WITHOUT_ACL])]
        )
        try:
            result = send_to_broker(admin, request, broker).results[0]
            if result.error_code:
                raise for_code(result.error_code)(result.error_message)
            found[broker] = authorizer_settings({entry.name: entry.value for entry in result.configs})
        except KafkaError as error:
            failure = error
    if failure is not None and not found:
        raise failure
    return found


def authorizer_settings(shown: Mapping[str, str | None]) -> AuthorizerSettings:
    """Return the settings that a broker has ``shown``: those that are set, with None for a hidden value."""
    class_name = shown.get(CLASS)
    defaults = class_name == "" or class_name in KAFKAS_OWN
    users, open_without_acl = shown.get(SUPER_USERS), shown.get(OPEN_WITHOUT_ACL)
    return AuthorizerSettings(
        class_name,
        frozenset(each.strip() for each in users.split(";") if each.strip())
        if users is not None
        else (frozenset() if defaults and SUPER_USERS not in shown else None),
        open_without_acl.strip().lower() == "true"
        if open_without_acl is not None
        else (False if defaults and OPEN_WITHOUT_ACL not in shown else None),
    )


def with_probed_values(
    admin: KafkaAdminClient, settings: Mapping[int, AuthorizerSettings], listing: AclListing
) -> dict[int, AuthorizerSettings]:
    """Return ``settings`` with the hidden values of ``allow.everyone.if.no.acl.found`` that a probe can prove.

    Sends up to three requests to each broker whose value is hidden; they read only.
    """
    return {
        broker: replace(each, open_without_acl=_probed(admin, broker, listing))
        if each.open_without_acl is None and each.class_name in KAFKAS_OWN
        else each
        for broker, each in settings.items()
    }


def _probed(admin: KafkaAdminClient, broker: int, listing: AclListing) -> bool | None:
    """Return whether a resource without ACLs is open to everyone at ``broker``; None if a probe cannot prove it.

    If this user may not describe a resource without ACLs, it is not open. If the user may, either everyone may, or the
    user is a super user. A super user is allowed everything, so anything that is denied proves that the user is none.
    """
    if listing.unknown:  # an ACL that this version cannot read may match the resource of the probe
        return None
    free = [kind for kind in (ResourceType.TOPIC, ResourceType.GROUP) if not _has_acls(listing, Resource(kind, _PROBE))]
    try:
        for kind in free:
            allowed = (
                _may_describe_topic(admin, broker) if kind is ResourceType.TOPIC else _may_describe_group(admin, broker)
            )
            return (True if _denied_anything(admin, broker, listing) else None) if allowed else False
    except KafkaError:
        return None
    return None


def _has_acls(listing: AclListing, resource: Resource) -> bool:
    return any(acl.matches(resource) for acl in listing.acls)


def _may_describe_topic(admin: KafkaAdminClient, broker: int) -> bool:
    topic = send_to_broker(admin, permissions_request([_PROBE]), broker).topics[0]
    return bool(topic.error_code != TopicAuthorizationFailedError.errno)


def _may_describe_group(admin: KafkaAdminClient, broker: int) -> bool:
    request = DescribeGroupsRequest(groups=[_PROBE], include_authorized_operations=False)
    group = send_to_broker(admin, request, broker).groups[0]
    return bool(group.error_code != GroupAuthorizationFailedError.errno)


def _denied_anything(admin: KafkaAdminClient, broker: int, listing: AclListing) -> bool:
    """Return whether ``broker`` denies this user an operation on the Cluster resource, or on a topic with ACLs."""
    cluster = send_to_broker(admin, DescribeClusterRequest(include_cluster_authorized_operations=True), broker)
    if cluster.authorized_operations and not cluster.authorized_operations >= _OF_CLUSTER:
        return True
    names = {
        acl.resource_name
        for acl in listing.acls
        if acl.resource_type is ResourceType.TOPIC and acl.pattern_type is PatternType.LITERAL
    }
    probed = permissions_request(sorted(names - {"*"})[:_PROBED_TOPICS])
    topics = send_to_broker(admin, probed, broker).topics if names else ()
    return any(
        topic.error_code == TopicAuthorizationFailedError.errno
        or (topic.authorized_operations and not topic.authorized_operations >= _OF_TOPICS)
        for topic in topics
    )


def permissions_request(names: Collection[str] | None) -> MetadataRequest:
    """Return the request for what this user may do with topics (KIP-430); None: with all that it may describe."""
    return MetadataRequest(
        topics=None if names is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=True,
    )
