"""Pydantic models of access: ``access:`` in a topic's YAML, and the files below ``access/``.

Validated values are in the words of Kafka's Java classes. Messages never repeat a password.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema, InitErrorDetails

from topicwarden.kafka_facts.config_values import GroupConfig
from topicwarden.kinds.client_metrics.spec import ClientMetricsSpec
from topicwarden.model.access import (
    CLUSTER_NAME,
    FEWEST_ITERATIONS,
    WILDCARD,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from topicwarden.model.field_types import Day, Flag, Nullable, Period, Size, StrictModel, custom_error
from topicwarden.model.message_text import describe_value, did_you_mean, quoted

MOST_BYTES: Final = 2**15 - 1
"""The most bytes of a name in Kafka's protocol, whose texts have lengths of two bytes."""
MOST_ITERATIONS: Final = 16384
"""The most iterations that Kafka accepts for both mechanisms (``ScramControlManager``)."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_TOPIC_CHARACTERS: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}", re.ASCII)
_SECRET_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9._:-]{0,254}", re.ASCII)


def _text(noun: str, example: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, str):
            hint = "; put it in quotes" if isinstance(value, (int, float)) else ""
            raise custom_error("type", f"expected {noun} such as {example}, got {describe_value(value)}{hint}")
        if not value:
            raise custom_error("value", f"expected {noun} such as {example}, got empty text")
        if _CONTROL.search(value):
            raise custom_error(
                "value", f"expected {noun} on one line, got {quoted(value)}; delete the line break or tab"
            )
        if len(value.encode("utf-8", "surrogatepass")) > MOST_BYTES:
            raise custom_error("value", f"expected {noun} of at most {MOST_BYTES:,} bytes, got {quoted(value)}")
        return value

    return check


def _principal(value: Any) -> str:
    text = _text("a principal", "User:orders")(value)
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
    return WILDCARD if value == WILDCARD else _address(value, " or '*'")


def _address(value: Any, or_else: str = "") -> str:
    """Return an IP address as Kafka compares it: as ``InetAddress.getHostAddress`` prints it."""
    text = _text("an IP address", "10.0.0.7")(value)
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        remedy = "Kafka compares addresses as text, so a host name or a network never matches"
        raise custom_error("value", f"expected an IP address{or_else}, got {quoted(text)}; {remedy}") from None
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return ":".join(f"{int(group, 16):x}" for group in address.exploded.partition("%")[0].split(":"))


def _topic_pattern(value: str) -> str:
    if not _TOPIC_CHARACTERS.fullmatch(value):
        remedy = "; for all topics that begin with a text, write {topic: TEXT, prefix: true}" if "*" in value else ""
        message = (
            f"expected a topic name of at most 249 ASCII letters, digits, '.', '_' and '-', got {quoted(value)}{remedy}"
        )
        raise custom_error("value", message)
    return value


def _quota_name(value: str) -> str:
    if value.startswith("User:"):
        raise custom_error(
            "value", f"expected the name of a user without its type, got {quoted(value)}; write {value[5:]}"
        )
    if value == "<default>":
        raise custom_error("value", 'expected a name, got "<default>"; write default: [user], [client_id] or [ip]')
    return value


def _scram_name(value: str) -> str:
    """Return a name of a SCRAM user; refuse one that no client can log in with (``ScramMessages``: ASCII only)."""
    if illegal := re.search(r"[^\x01-\x7f]", value):
        raise custom_error(
            "name",
            f"expected the name of a SCRAM user of ASCII characters, got {quoted(value)}: brokers refuse the login of "
            f"others; replace {quoted(illegal[0])}",
        )
    return value


def _word(words: type[StrEnum], noun: str) -> tuple[PlainValidator, WithJsonSchema]:
    """Return the annotations of a word, read in each spelling that Kafka's tools accept: ``DESCRIBE_CONFIGS``."""
    by_letters = {word.value.lower(): word for word in words}
    choices = [word.value for word in words]

    def check(value: Any) -> StrEnum:
        letters = value.replace("_", "").replace("-", "").lower() if isinstance(value, str) else ""
        if letters not in by_letters:
            suggestion = did_you_mean(value, choices) if isinstance(value, str) else ""
            known = f"one of {', '.join(choices)}"
            raise custom_error("value", f"expected {noun}, {known}, got {describe_value(value)}{suggestion}")
        return by_letters[letters]

    other_spellings = "|".join(spelling for word in words for spelling in (word.name, word.name.lower()))
    schema = {"anyOf": [{"enum": choices}, {"type": "string", "pattern": f"^({other_spellings})$"}]}
    return PlainValidator(check), WithJsonSchema(schema)


@dataclass(frozen=True)
class _OrText:
    """Adds a plain text with the JSON Schema ``text`` to the JSON Schema of a mapping."""

    text: Mapping[str, Any]

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [dict(self.text), handler(schema)]}


def or_text(key: str, text: Mapping[str, Any]) -> tuple[BeforeValidator, _OrText]:
    """Return the annotations of a mapping for which the value of ``key`` alone, with the schema ``text``, is enough."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value), _OrText(text)


_STRING: Final = {"type": "string", "minLength": 1}
_PRINCIPAL_TEXT: Final = {"type": "string", "pattern": r"^[^:\s]+:\S(.*\S)?$"}
_CHANGES: Final = (
    *("revoke-access", "first-acl", "open-access", "throttle-clients"),
    *("remove-credential", "replace-credential"),
)
Principal = Annotated[str, PlainValidator(_principal), WithJsonSchema(_PRINCIPAL_TEXT)]
Host = Annotated[str, PlainValidator(_host), WithJsonSchema(_STRING)]
Name = Annotated[str, PlainValidator(_text("a name", "billing")), WithJsonSchema(_STRING)]
TopicPattern = Annotated[Name, AfterValidator(_topic_pattern)]
UserName = Annotated[Name, AfterValidator(_quota_name)]
ScramName = Annotated[UserName, AfterValidator(_scram_name)]
OperationWord = Annotated[Operation, *_word(Operation, "an operation")]
PermissionWord = Annotated[PermissionType, *_word(PermissionType, "a permission")]
ResourceWord = Annotated[ResourceType, *_word(ResourceType, "a type of resource")]
PatternWord = Annotated[PatternType, *_word(PatternType, "a pattern type")]
Operations = Annotated[list[OperationWord], Field(min_length=1)]

_PRINCIPAL: Final = "The principal, such as `User:orders`; an opaque text for Kafka."
_HOST: Final = "The IP address from which the principal connects; by default, any."


class _AccessModel(StrictModel):
    """A model whose validator pydantic builds at its first use, because most checks need only some of them."""

    model_config = ConfigDict(defer_build=True)


class ProduceSpec(_AccessModel):
    """A principal that produces to the topic, perhaps in transactions."""

    principal: Principal = Field(description=_PRINCIPAL)
    transactional_id: Name | None = Field(default=None, description="The producer's `transactional.id`.")
    prefix: Flag = Field(default=False, description="Whether the transactional id is only the start of ids.")
    host: Host = Field(default=WILDCARD, description=_HOST)

    @model_validator(mode="after")
    def _has_name(self) -> Self:
        if self.prefix and self.transactional_id is None:
            raise _at("prefix", "expected a transactional_id to be the start of ids, got none; write it")
        return self


class ConsumeSpec(_AccessModel):
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
            raise _at("prefix", "expected a group to be the start of group ids, got none; write it")
        if self.max_lag is not None and self.group is None:
            raise _at("max_lag", "expected a group, whose unread records are limited, got none; write it")
        return self


class OperationsSpec(_AccessModel):
    """Operations that a principal is allowed or denied, for what no role says."""

    principal: Principal = Field(description=_PRINCIPAL)
    operations: Operations = Field(description="Kafka's operations, such as `Read` and `DescribeConfigs`.")
    permission: PermissionWord = Field(
        default=PermissionType.ALLOW, description="`Allow`, or `Deny`, which always wins."
    )
    host: Host = Field(default=WILDCARD, description=_HOST)


class TopicAccessSpec(_AccessModel):
    """The principals that may use the topic, and how."""

    produce: list[Annotated[ProduceSpec, *or_text("principal", _PRINCIPAL_TEXT)]] | None = Field(
        default=None, description="The principals that produce: `User:orders`, or a mapping."
    )
    consume: list[Annotated[ConsumeSpec, *or_text("principal", _PRINCIPAL_TEXT)]] | None = Field(
        default=None, description="The principals that consume, with their groups."
    )
    acls: list[OperationsSpec] | None = Field(default=None, description="Other operations on the topic.")


class TopicPatternSpec(_AccessModel):
    """A topic, or all topics whose names begin with a text."""

    topic: TopicPattern = Field(description="The topic's name, or its start.")
    prefix: Flag = Field(default=False, description="Whether the name is only the start of names.")


TopicPatterns = list[Annotated[TopicPatternSpec, *or_text("topic", _STRING)]]


class ApplicationSpec(_AccessModel):
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
            raise _at(
                "name", f"expected {CLUSTER_NAME}, the only name of a cluster, got another one; delete name and pattern"
            )
        if not cluster and self.name is None:
            raise _at("name", "missing; write the name of the resource")
        return self


def _secret_reference(value: Any) -> dict[str, str]:
    """Return the name and the version of a secret. The message never repeats the value: it may be the password."""
    expected = "expected a reference to a secret such as {secret: orders-password, version: 3}"
    if not isinstance(value, dict) or value.keys() - {"secret", "version"}:
        raise custom_error(
            "plaintext-secret",
            f"{expected}, got something else, which is not repeated here; if it is a password, delete it from the file "
            "and its history, choose a new one, and write it with `pulumi config set --secret NAME`",
        )
    secret, version = value.get("secret"), value.get("version")
    if not isinstance(secret, str) or not _SECRET_NAME.fullmatch(secret):
        raise custom_error(
            "plaintext-secret", f"{expected}, got another secret; write the name of the secret, not the password"
        )
    valid_number = isinstance(version, int) and not isinstance(version, bool) and version >= 0
    if not valid_number and not (isinstance(version, str) and re.fullmatch(r"[A-Za-z0-9._-]{1,64}", version)):
        raise custom_error("value", f"{expected}, got no version, or an invalid one; write a number such as 1")
    return {"secret": secret, "version": str(version)}


def _user_mapping(value: Any) -> Any:
    if value is not None and not isinstance(value, dict):
        expected = (
            "expected a mapping such as {mechanism: SCRAM-SHA-512, password: {secret: orders-password, version: 3}}"
        )
        raise custom_error("plaintext-secret", f"{expected}, got something else, which is not repeated here")
    return value


class UserSpec(_AccessModel):
    """A user with a SCRAM credential."""

    mechanism: (
        Annotated[
            list[Literal["SCRAM-SHA-256", "SCRAM-SHA-512"]],
            BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
            Field(min_length=1),
            WithJsonSchema(
                {
                    "anyOf": [
                        {"enum": ["SCRAM-SHA-256", "SCRAM-SHA-512"]},
                        {"type": "array", "items": {"enum": ["SCRAM-SHA-256", "SCRAM-SHA-512"]}, "minItems": 1},
                    ]
                }
            ),
        ]
        | None
    ) = Field(default=None, description="The mechanism, or a list of both.")
    iterations: Annotated[int, Field(strict=True, ge=FEWEST_ITERATIONS, le=MOST_ITERATIONS)] | None = Field(
        default=None, description=f"The number of iterations; by default {FEWEST_ITERATIONS}, as Kafka's tools write."
    )
    password: (
        Annotated[
            Mapping[str, str],
            PlainValidator(_secret_reference),
            WithJsonSchema(
                {
                    "type": "object",
                    "properties": {
                        "secret": {
                            "type": "string",
                            "description": "The name of the secret in the stack's configuration.",
                        },
                        "version": {
                            "anyOf": [{"type": "integer"}, {"type": "string"}],
                            "description": "Any text or number; a new one says that the password is a new one.",
                        },
                    },
                    "required": ["secret", "version"],
                    "additionalProperties": False,
                }
            ),
        ]
        | None
    ) = Field(default=None, description="The secret with the password, and its version.")


QuotaRate = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
QuotaPart = Literal["user", "client_id", "ip"]
_PARTS: Final = ("user", "client_id", "ip")
CLIENT_KEYS: Final = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
IP_KEYS: Final = ("connection_creation_rate",)
"""Kafka's keys of quotas of users and clients, and of addresses (``QuotaConfig``, KIP-546, KIP-599, KIP-612)."""


class QuotaSpec(_AccessModel):
    """The quota of a user, of a client id, of both, or of an address; ``default`` has the parts without a name."""

    user: UserName | None = Field(default=None, description="The name of the user, without `User:`.")
    client_id: UserName | None = Field(default=None, description="The `client.id`.")
    ip: Annotated[str, PlainValidator(_address), WithJsonSchema(_STRING)] | None = Field(
        default=None, description="The IP address."
    )
    default: list[QuotaPart] | None = Field(
        default=None, description="The parts that are the default: `[user]` limits each user without its own quota."
    )
    producer_byte_rate: Size | None = Field(default=None, description="Bytes per second and broker.")
    consumer_byte_rate: Size | None = Field(default=None, description="Bytes per second and broker.")
    request_percentage: QuotaRate | None = Field(default=None, description="Percentage of one thread's time.")
    controller_mutation_rate: QuotaRate | None = Field(
        default=None, description="Partitions created and deleted per second."
    )
    connection_creation_rate: Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)] | None = Field(
        default=None, description="New connections per second and broker, for an address."
    )

    @model_validator(mode="after")
    def _is_valid_entity(self) -> Self:
        defaults = self.default or []
        for part in _PARTS:
            if part in defaults and getattr(self, part) is not None:
                raise _at("default", f"expected {part} once, got its name and its default; keep one")
        parts = [part for part in _PARTS if part in defaults or getattr(self, part) is not None]
        if not parts:
            raise _at("", "expected user, client_id, ip or default, got none; write whom the quota limits")
        if "ip" in parts and len(parts) > 1:
            raise _at("ip", f"expected ip alone, got {' and '.join(parts)}: Kafka has no such quota; write two entries")
        valid = IP_KEYS if "ip" in parts else CLIENT_KEYS
        written = [key for key in (*CLIENT_KEYS, *IP_KEYS) if getattr(self, key) is not None]
        if not written:
            raise _at("", f"expected at least one of {', '.join(valid)}, got none; write the limit")
        for key in written:
            if key not in valid:
                raise _at(key, f"Kafka has no such quota of {' and '.join(parts)}; known are {', '.join(valid)}")
        return self


def _at(key: str, message: str) -> ValidationError:
    """Return an error at ``key`` of a mapping, or at the mapping itself if it is empty."""
    error = InitErrorDetails(type=custom_error("value", message), loc=(key,) if key else (), input=None)
    return ValidationError.from_exception_data("access", [error])


class AccessPermissionSpec(_AccessModel):
    """One change of access that is allowed, optionally until a day."""

    change: Literal[
        "revoke-access", "first-acl", "open-access", "throttle-clients", "remove-credential", "replace-credential"
    ] = Field(description="The change that is allowed.")
    until: Day | None = Field(default=None, description="The last day on which it is allowed, as 2027-01-31 (in UTC).")


class AccessSettings(_AccessModel):
    """All keys of a file below ``access/`` that can differ by stack."""

    applications: Nullable[dict[Name, Nullable[ApplicationSpec]]] = Field(
        default={}, description="Kafka Streams applications and Kafka Connect clusters, by any name."
    )
    groups: list[GroupSpec] | None = Field(default=None, description="Operations on groups.")
    cluster: list[OperationsSpec] | None = Field(default=None, description="Operations on the cluster.")
    acls: list[AclSpec] | None = Field(default=None, description="Operations on any resource.")
    users: Nullable[dict[ScramName, Annotated[Nullable[UserSpec], BeforeValidator(_user_mapping)]]] = Field(
        default={}, description="SCRAM users by name."
    )
    quotas: list[QuotaSpec] | None = Field(default=None, description="Limits of users, clients and addresses.")
    group_configs: Nullable[dict[Name, GroupConfig]] = Field(
        default={}, description="Kafka's settings of groups, by group."
    )
    client_metrics: Nullable[dict[Name, Nullable[ClientMetricsSpec]]] = Field(
        default={}, description="The metrics that clients push to the brokers (KIP-714), by subscription."
    )
    allow: list[Annotated[AccessPermissionSpec, *or_text("change", {"enum": list(_CHANGES)})]] | None = Field(
        default=None, description="Changes of access that are allowed, each by name: [revoke-access]."
    )


class AccessDocument(AccessSettings):
    """A file below ``access/``: the access that is not a single topic's."""

    stacks: Nullable[dict[str, Nullable[AccessSettings]]] = Field(default={}, description="Overrides by stack.")
