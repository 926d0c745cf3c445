"""Finds out which permissions the user of a connection has, without changing anything.

Brokers report the authorized operations of a user (KIP-430), but those of the cluster only to a user with Describe on
it, and some services report none. Then a request is tried that needs the permission and has no effect: a description, a
change with ``validateOnly``, or a reassignment of no partitions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType
from kafka.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    IncompatibleBrokerVersion,
    InvalidReplicationFactorError,
    KafkaError,
    NoError,
    NotControllerError,
    PolicyViolationError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    CreateTopicsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    ListPartitionReassignmentsRequest,
)

from topicwarden.kafka.connect.client_internals import send_to_any_broker, send_to_broker, settings_request
from topicwarden.kafka.connect.request_errors import retry_transient
from topicwarden.kafka.read.authorizer_reads import OPERATIONS, permissions_request
from topicwarden.kafka_facts.throttle_settings import RATES
from topicwarden.specs.stacks.stack_scope import StackScope

_WORDS: Final = {number: str(operation) for operation, number in OPERATIONS.items()}
_AT_ONCE: Final = 1_000
_TIMEOUT_MS: Final = 10_000
_TEST_GROUP: Final = "topicwarden-doctor"
_DENIED: Final = (
    ClusterAuthorizationFailedError.errno,
    GroupAuthorizationFailedError.errno,
    TopicAuthorizationFailedError.errno,
)
_VALIDATED: Final = (
    NoError.errno,
    InvalidReplicationFactorError.errno,
    PolicyViolationError.errno,
    TopicAlreadyExistsError.errno,
)
"""Answers to a creation that a broker has authorized."""


@dataclass(frozen=True)
class TopicPermissions:
    """The permissions of the user on topics.

    ``operations``: Kafka's words by topic, for topics that the user sees, also declared ones that do not exist; None if
    the brokers do not report them. ``hidden``: declared topics that the user may not describe. ``missing``: declared
    topics that do not exist. ``creatable``: whether the user may create a hidden topic; without what is not known.
    """

    operations: Mapping[str, frozenset[str] | None]
    hidden: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()
    creatable: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class GroupPermissions:
    """The consumer groups that the user sees by name, and those of them that the user may not describe.

    ``denied`` has a name that no group has if the user sees no group, and may not describe that one. It is None if the
    brokers have no such requests.
    """

    groups: frozenset[str]
    denied: frozenset[str] | None


def read_cluster_permissions(admin: KafkaAdminClient) -> dict[str, bool | None]:
    """Return whether the user has each operation on the Cluster resource; None if it is not known."""
    try:
        answer = _send(admin, DescribeClusterRequest(include_cluster_authorized_operations=True))
        reported, brokers = answer.authorized_operations, [each.broker_id for each in answer.brokers]
    except KafkaError:  # brokers before Kafka 2.8
        reported, brokers = None, [each["broker_id"] for each in admin.describe_cluster()["brokers"]]
    if reported:
        return {word: number in reported for number, word in _WORDS.items()}
    describe = False if reported is not None else _attempt(admin, _list_no_reassignments)
    return {
        "Describe": describe,
        "Alter": _attempt(admin, _reassign_nothing),
        "DescribeConfigs": _attempt(admin, lambda admin: _describe_broker(admin, brokers[0])),
        "AlterConfigs": _attempt(admin, lambda admin: _validate_rate(admin, brokers[0])),
    }


def read_topic_permissions(admin: KafkaAdminClient, declared: Collection[str], scope: StackScope) -> TopicPermissions:
    """Return the user's permissions on all topics in ``scope`` that the user sees, and on the ``declared`` ones."""
    topics = [each for each in _send(admin, permissions_request(None)).topics if scope.owns(each.name)]
    described = {topic.name for topic in topics}
    unseen = sorted({*declared} - described)
    for start in range(0, len(unseen), _AT_ONCE):
        topics += _send(admin, permissions_request(unseen[start : start + _AT_ONCE])).topics
    hidden = frozenset(each.name for each in topics if each.error_code == TopicAuthorizationFailedError.errno)
    return TopicPermissions(
        {each.name: _as_words(each.authorized_operations) for each in topics if each.name not in hidden},
        hidden,
        frozenset(each.name for each in topics if each.error_code == UnknownTopicOrPartitionError.errno),
        _creatable(admin, sorted(hidden)),
    )


def read_group_permissions(admin: KafkaAdminClient) -> GroupPermissions:
    """Return which groups the user sees, and which of them the user may not describe.

    Any broker answers whether the user may describe a group, before it looks for the group's coordinator
    (``KafkaApis.handleDescribeGroupsRequest``).
    """
    try:
        return _group_permissions(admin)
    except (IncompatibleBrokerVersion, UnsupportedVersionError):
        return GroupPermissions(frozenset(), None)


def _group_permissions(admin: KafkaAdminClient) -> GroupPermissions:
    groups = frozenset(str(group["group_id"]) for group in retry_transient(admin.list_groups))
    names = sorted(groups) or [_TEST_GROUP]
    denied: set[str] = set()
    for start in range(0, len(names), _AT_ONCE):
        request = DescribeGroupsRequest(groups=names[start : start + _AT_ONCE], include_authorized_operations=False)
        answer = _send(admin, request)
        denied |= {each.group_id for each in answer.groups if each.error_code == GroupAuthorizationFailedError.errno}
    return GroupPermissions(groups, frozenset(denied))


def _as_words(operations: Collection[int] | None) -> frozenset[str] | None:
    return None if operations is None else frozenset(_WORDS[each] for each in operations if each in _WORDS)


def _creatable(admin: KafkaAdminClient, names: list[str]) -> dict[str, bool]:
    """Return whether the user may create each of ``names``: brokers authorize a creation before they validate it."""
    creatable: dict[str, bool] = {}
    for start in range(0, len(names), _AT_ONCE):
        topics = [
            CreateTopicsRequest.CreatableTopic(
                name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[]
            )
            for name in names[start : start + _AT_ONCE]
        ]
        request = CreateTopicsRequest(topics=topics, timeout_ms=_TIMEOUT_MS, validate_only=True)
        try:
            answer = _send(admin, request)
        except KafkaError:
            return {}
        for topic in answer.topics:
            if topic.error_code in (*_DENIED, *_VALIDATED):
                creatable[topic.name] = topic.error_code in _VALIDATED
    return creatable


def _attempt(admin: KafkaAdminClient, send: Any) -> bool | None:
    """Return whether the error code that ``send`` returns means that the user has the permission; None if it is
    unclear.
    """
    try:
        code = send(admin)
    except KafkaError:
        return None
    if code in _DENIED:
        return False
    return True if code in (NoError.errno, NotControllerError.errno) else None


def _list_no_reassignments(admin: KafkaAdminClient) -> int:
    return int(_send(admin, ListPartitionReassignmentsRequest(timeout_ms=_TIMEOUT_MS, topics=[])).error_code)


def _reassign_nothing(admin: KafkaAdminClient) -> int:
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=_TIMEOUT_MS, allow_replication_factor_change=True, topics=[]
    )
    return int(_send(admin, request).error_code)


def _describe_broker(admin: KafkaAdminClient, broker: int) -> int:
    request = DescribeConfigsRequest(resources=[(ConfigResourceType.BROKER, str(broker), [RATES[0]])])
    return int(send_to_broker(admin, request, broker).results[0].error_code)


def _validate_rate(admin: KafkaAdminClient, broker: int) -> int:
    change = {str(broker): [(RATES[0], "1000000000")]}
    request = settings_request(ConfigResourceType.BROKER, change, validate_only=True)
    return int(send_to_broker(admin, request, broker).responses[0].error_code)


def _send(admin: KafkaAdminClient, request: Any) -> Any:
    return retry_transient(lambda: send_to_any_broker(admin, request))
