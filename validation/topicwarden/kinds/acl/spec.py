"""The YAML of ACLs: ``access:`` of a topic, and applications, groups, the cluster and other ACLs below ``access/``.

Validated values are in the words of Kafka's Java classes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema, model_validator

from topicwarden.kafka_facts.access import roles
from topicwarden.kafka_facts.access.roles import ConnectCluster, NamePattern, StreamsApplication
from topicwarden.kinds.access_spec import AccessFile, AccessSpec, Entry, missing_keys
from topicwarden.model.access import (
    ACLS,
    CLUSTER_NAME,
    WILDCARD,
    AccessSource,
    Acl,
    Operation,
    OperationGrant,
    PatternType,
    PermissionType,
    ResourceType,
)
from topicwarden.model.field_types import (
    STRING,
    Flag,
    Name,
    Nullable,
    Period,
    StrictModel,
    custom_error,
    error_at,
    ip_address,
    or_text,
    text_type,
    word_type,
)
from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Location, Problem

_TOPIC_CHARACTERS: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}", re.ASCII)


def _principal(value: Any) -> str:
    text = text_type("a principal", "User:orders")(value)
    kind, colon, name = text.partition(":")
    if not colon:
        raise custom_error(
            "value", f"expected a principal such as User:orders, got {quoted(text)}; write User:{text}"[:400]
        )
    if not kind or not name or kind.strip() != kind or name.strip() != name:
        message = (
            f"expected a type, a colon and a name without spaces around them, such as User:orders, got {quoted(text)}"
        )
        raise custom_error("value", message)
    return text


def _host(value: Any) -> str:
    return WILDCARD if value == WILDCARD else ip_address(value, " or '*'")


def _topic_pattern(value: str) -> str:
    if not _TOPIC_CHARACTERS.fullmatch(value):
        remedy = "; for all topics that begin with a text, write {topic: TEXT, prefix: true}" if "*" in value else ""
        message = (
            f"expected a topic name of at most 249 ASCII letters, digits, '.', '_' and '-', got {quoted(value)}{remedy}"
        )
        raise custom_error("value", message)
    return value


_PRINCIPAL_TEXT: Final = {"type": "string", "pattern": r"^[^:\s]+:\S(.*\S)?$"}
Principal = Annotated[str, PlainValidator(_principal), WithJsonSchema(_PRINCIPAL_TEXT)]
Host = Annotated[str, PlainValidator(_host), WithJsonSchema(STRING)]
TopicPattern = Annotated[Name, AfterValidator(_topic_pattern)]
OperationWord = Annotated[Operation, *word_type(Operation, "an operation")]
PermissionWord = Annotated[PermissionType, *word_type(PermissionType, "a permission")]
ResourceWord = Annotated[ResourceType, *word_type(ResourceType, "a type of resource")]
PatternWord = Annotated[PatternType, *word_type(PatternType, "a pattern type")]
Operations = Annotated[list[OperationWord], Field(min_length=1)]

_PRINCIPAL: Final = "The principal, such as `User:orders`; an opaque text for Kafka."
_HOST: Final = "The IP address from which the principal connects; by default, any."


class ProduceSpec(StrictModel):
    """A principal that produces to the topic, perhaps in transactions."""

    principal: Principal = Field(description=_PRINCIPAL)
    transactional_id: Name | None = Field(default=None, description="The producer's `transactional.id`.")
    prefix: Flag = Field(default=False, description="Whether the transactional id is only the start of ids.")
    host: Host = Field(default=WILDCARD, description=_HOST)

    @model_validator(mode="after")
    def _has_name(self) -> Self:
        if self.prefix and self.transactional_id is None:
            raise error_at("prefix", "expected a transactional_id to be the start of ids, got none; write it")
        return self


class ConsumeSpec(StrictModel):
    """A principal that consumes the topic, as a member of a group."""

    principal: Principal = Field(description=_PRINCIPAL)
    group: Name | None = Field(default=None, description="The consumer's `group.id`.")
    prefix: Flag = Field(default=False, description="Whether the group is only the start of group ids.")
    host: Host = Field(default=WILDCARD, description=_HOST)
    max_lag: Period | None = Field(
        default=None, description="The maximum age of the oldest record that the group has not read: 1h."
    )

    @model_validator(mode="after")
    def _has_name(self) -> Self:
        if self.prefix and self.group is None:
            raise error_at("prefix", "expected a group to be the start of group ids, got none; write it")
        if self.max_lag is not None and self.group is None:
            raise error_at("max_lag", "expected a group, whose unread records are limited, got none; write it")
        return self


class OperationsSpec(StrictModel):
    """Operations that a principal is allowed or denied, for what no role says."""

    principal: Principal = Field(description=_PRINCIPAL)
    operations: Operations = Field(description="Kafka's operations, such as `Read` and `DescribeConfigs`.")
    permission: PermissionWord = Field(
        default=PermissionType.ALLOW, description="`Allow`, or `Deny`, which always wins."
    )
    host: Host = Field(default=WILDCARD, description=_HOST)


class TopicAccessSpec(StrictModel):
    """The principals that may use the topic, and how."""

    produce: list[Annotated[ProduceSpec, *or_text("principal", _PRINCIPAL_TEXT)]] | None = Field(
        default=None, description="The principals that produce: `User:orders`, or a mapping."
    )
    consume: list[Annotated[ConsumeSpec, *or_text("principal", _PRINCIPAL_TEXT)]] | None = Field(
        default=None, description="The principals that consume, with their groups."
    )
    acls: list[OperationsSpec] | None = Field(default=None, description="Other operations on the topic.")


class TopicPatternSpec(StrictModel):
    """A topic, or all topics whose names begin with a text."""

    topic: TopicPattern = Field(description="The topic's name, or its start.")
    prefix: Flag = Field(default=False, description="Whether the name is only the start of names.")


TopicPatterns = list[Annotated[TopicPatternSpec, *or_text("topic", STRING)]]


class ApplicationSpec(StrictModel):
    """An application whose framework needs more than roles of topics: Kafka Streams or Kafka Connect."""

    type: Literal["streams", "connect"] | None = Field(default=None, description="The framework.")
    principal: Principal | None = Field(default=None, description=_PRINCIPAL)
    host: Host | None = Field(default=None, description=_HOST)
    exactly_once: Flag | None = Field(
        default=None, description="Whether it uses transactions: `processing.guarantee`, `exactly.once.source.support`."
    )
    application_id: TopicPattern | None = Field(default=None, description="Kafka Streams' `application.id`.")
    inputs: TopicPatterns | None = Field(default=None, description="The topics that Kafka Streams reads.")
    outputs: TopicPatterns | None = Field(default=None, description="The topics that Kafka Streams writes.")
    group: Name | None = Field(default=None, description="The `group.id` of Kafka Connect's workers.")
    config_topic: TopicPattern | None = Field(default=None, description="Kafka Connect's `config.storage.topic`.")
    offset_topic: TopicPattern | None = Field(default=None, description="Kafka Connect's `offset.storage.topic`.")
    status_topic: TopicPattern | None = Field(default=None, description="Kafka Connect's `status.storage.topic`.")
    reads: TopicPatterns | None = Field(default=None, description="The topics of Kafka Connect's sink connectors.")
    writes: TopicPatterns | None = Field(default=None, description="The topics of Kafka Connect's source connectors.")


class GroupSpec(OperationsSpec):
    """Operations on a consumer, share or streams group."""

    group: Name = Field(description="The group's id, or its start.")
    prefix: Flag = Field(default=False, description="Whether the group is only the start of group ids.")


class AclSpec(OperationsSpec):
    """Operations on any resource."""

    resource: ResourceWord = Field(description="The type of the resource, such as `Topic`.")
    name: Name | None = Field(default=None, description="The name of the resource, its start, or `*`.")
    pattern: PatternWord = Field(
        default=PatternType.LITERAL, description="`Literal`, or `Prefixed` for all names that begin with the text."
    )

    @model_validator(mode="after")
    def _is_valid_resource(self) -> Self:
        cluster = self.resource is ResourceType.CLUSTER
        if cluster and (self.name not in (None, CLUSTER_NAME) or self.pattern is not PatternType.LITERAL):
            raise error_at(
                "name", f"expected {CLUSTER_NAME}, the only name of a cluster, got another one; delete name and pattern"
            )
        if not cluster and self.name is None:
            raise error_at("name", "missing; write the name of the resource")
        return self


class AclSettings(StrictModel):
    """The keys of ACLs in a file below ``access/``."""

    applications: Nullable[dict[Name, Nullable[ApplicationSpec]]] = Field(
        default={}, description="Kafka Streams applications and Kafka Connect clusters, by any name."
    )
    groups: list[GroupSpec] | None = Field(default=None, description="Operations on groups.")
    cluster: list[OperationsSpec] | None = Field(default=None, description="Operations on the cluster.")
    acls: list[AclSpec] | None = Field(default=None, description="Operations on any resource.")


_COMMON: Final = ("type", "principal", "host", "exactly_once")
_KEYS: Final = {
    "streams": (("principal",), ("application_id", "inputs", "outputs")),
    "connect": (
        ("principal", "config_topic", "offset_topic", "status_topic"),
        ("group", "config_topic", "offset_topic", "status_topic", "reads", "writes"),
    ),
}
"""The keys that an application of each type must have, and those that only this type has."""


def operation_grant(entry: Mapping[str, Any]) -> OperationGrant:
    """Return the operations that a validated entry of ``acls``, ``groups`` or ``cluster`` declares."""
    permission = entry.get("permission", PermissionType.ALLOW)
    return OperationGrant(
        entry["principal"], tuple(dict.fromkeys(entry["operations"])), permission, entry.get("host", WILDCARD)
    )


def operations_yaml(grant: OperationGrant) -> dict[str, Any]:
    """Return the YAML of operations, without the resource; the inverse of ``operation_grant``."""
    return {
        "principal": grant.principal,
        "operations": [str(operation) for operation in grant.operations],
        **({"permission": "Deny"} if grant.permission is PermissionType.DENY else {}),
        **({"host": grant.host} if grant.host != WILDCARD else {}),
    }


def _entries(file: AccessFile) -> Iterator[Entry | Problem]:
    for name, settings, locate in file.items("applications"):
        yield Entry(f"applications.{name}", None, locate(""), f"the application {quoted(name)}")
        problems = list(_application_problems(name, settings, locate))
        yield from problems
        if not any(problem.rule == "missing" for problem in problems):
            source = AccessSource(locate(""), f"the application {name}")
            yield from (Entry(acl, source, source.location) for acl in _application_acls(name, settings))
    for key in ("groups", "cluster", "acls"):
        for entry, location in file.entries(key):
            resource_type, names = _resource(key, entry)
            for acl in roles.operations(operation_grant(entry), resource_type, names):
                yield Entry(acl, AccessSource(location, key), location)


def _application_problems(
    name: str, settings: Mapping[str, Any], locate: Callable[[str], Location]
) -> Iterator[Problem]:
    kind = settings.get("type")
    if kind is None:
        message = f"applications.{name}.type: expected one of {', '.join(_KEYS)}, got none; write it"
        yield Problem(locate(""), message, "missing")
        return
    required, own = _KEYS[kind]
    for key in settings:
        if key not in (*_COMMON, *own):
            known = ", ".join((*_COMMON, *own))
            message = f"an application of the type {kind} has no such key; known are {known}"
            yield Problem(locate(key), f"applications.{name}.{key}: {message}", "unknown-key")
    yield from missing_keys(f"applications.{name}", (key for key in required if key not in settings), locate(""))


def _application_acls(name: str, settings: Mapping[str, Any]) -> Iterator[Acl]:
    """Yield the ACLs of a valid application; its name is the default of ``application_id`` and of ``group``."""

    def topics(key: str) -> tuple[NamePattern, ...]:
        return tuple(NamePattern(each["topic"], each.get("prefix", False)) for each in settings.get(key, ()))

    common = {
        "principal": settings["principal"],
        "host": settings.get("host", WILDCARD),
        "exactly_once": settings.get("exactly_once", False),
    }
    if settings["type"] == "streams":
        application_id = settings.get("application_id", name)
        return roles.streams(
            StreamsApplication(
                application_id=application_id, inputs=topics("inputs"), outputs=topics("outputs"), **common
            )
        )
    return roles.connect(
        ConnectCluster(
            group=settings.get("group", name),
            config_topic=settings["config_topic"],
            offset_topic=settings["offset_topic"],
            status_topic=settings["status_topic"],
            reads=topics("reads"),
            writes=topics("writes"),
            **common,
        )
    )


def _resource(key: str, entry: Mapping[str, Any]) -> tuple[ResourceType, NamePattern]:
    """Return the resources of an entry of ``groups``, ``cluster`` or ``acls``."""
    if key == "groups":
        return ResourceType.GROUP, NamePattern(entry["group"], entry.get("prefix", False))
    if key == "cluster" or entry["resource"] is ResourceType.CLUSTER:
        return ResourceType.CLUSTER, NamePattern(CLUSTER_NAME)
    prefixed = entry.get("pattern", PatternType.LITERAL) is PatternType.PREFIXED
    return entry["resource"], NamePattern(entry["name"], prefixed)


SPEC: Final = AccessSpec(ACLS, AclSettings, _entries)
