"""Pydantic models of one document: a topic's YAML, or a ``_defaults.yaml``.

Validated values are in Kafka's units and spelling. A missing key is not set; null unsets the inherited value. Null for
a mapping has no effect, because it often means that all keys below are commented out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, WithJsonSchema
from pydantic_core import CoreSchema

from topicwarden.model.topic import Allowance
from topicwarden.specs.config_values import Config, custom_error
from topicwarden.specs.message_text import describe_value, whole_number_hint
from topicwarden.specs.topic_names import MAX_LENGTH, name_problem
from topicwarden.specs.units import DURATION, SIZE, ValueUnit

T = TypeVar("T")


def _parse_unit(unit: ValueUnit) -> Callable[[Any], Any]:
    def number(value: Any) -> Any:
        if isinstance(value, str):
            try:
                return unit.parse(value)
            except ValueError as error:
                raise custom_error("value", str(error)) from error
        if isinstance(value, bool) or not isinstance(value, int):
            hint = whole_number_hint(value) if isinstance(value, float) else ""
            raise custom_error(
                "type", f"expected a {unit.noun} such as {unit.example}, seen {describe_value(value)}{hint}"
            )
        return value

    return number


def _parse_day(value: Any) -> date:
    try:
        if isinstance(value, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value, re.ASCII):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise custom_error("value", f"expected a day of the calendar such as 2027-01-31, seen {describe_value(value)}")


def _check_name(value: str) -> str:
    if problem := name_problem(value):
        raise custom_error("topic-name", problem)
    return value


class _NullableSchema:
    """Adds null to the JSON Schema of a mapping."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [handler(schema), {"type": "null"}]}


class _ChangeOrMapping:
    """Adds the name of the change alone to the JSON Schema of a mapping."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"enum": [allowance.value for allowance in Allowance]}, handler(schema)]}


def _unit_schema(unit: ValueUnit, minimum: int) -> WithJsonSchema:
    number = {"type": "integer", "minimum": minimum}
    return WithJsonSchema({"anyOf": [number, {"type": "string", "pattern": unit.pattern}]})


Text = Annotated[str, Field(strict=True, min_length=1)]
Flag = Annotated[bool, Field(strict=True)]
Partitions = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
ReplicationFactor = Annotated[int, Field(strict=True, ge=1, le=2**15 - 1)]
PerDay = Annotated[int, Field(strict=True, ge=0)]
Ratio = Annotated[float, Field(strict=True, ge=1, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]
Duration = Annotated[int, BeforeValidator(_parse_unit(DURATION)), Field(ge=0), _unit_schema(DURATION, 0)]
Size = Annotated[int, BeforeValidator(_parse_unit(SIZE)), Field(ge=1), _unit_schema(SIZE, 1)]
Day = Annotated[date, BeforeValidator(_parse_day), WithJsonSchema({"type": "string", "format": "date"})]
TopicName = Annotated[
    str,
    Field(strict=True, json_schema_extra={"pattern": rf"^[a-zA-Z0-9._-]{{1,{MAX_LENGTH}}}$"}),
    AfterValidator(_check_name),
]
Nullable = Annotated[T, BeforeValidator(lambda value: {} if value is None else value), _NullableSchema()]

Format = Literal["string", "json", "avro", "protobuf", "bytes", "int", "long", "uuid"]
Partitioner = Literal["murmur2", "crc32", "fnv1a", "sarama"]
FUNCTION = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"
FunctionName = Annotated[str, Field(strict=True, pattern=FUNCTION)]


class ContentsSection(BaseModel):
    """A mapping that rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EncodedSpec(ContentsSection):
    """The encoding of the keys or values."""

    format: Format | None = Field(default=None, description="The encoding of the bytes.")
    schema_: Text | None = Field(
        default=None,
        alias="schema",
        description="Path of the JSON Schema, Avro schema or .proto file, relative to this file.",
    )
    message: Text | None = Field(
        default=None, description="The message type in the .proto file; by default, the first in the file."
    )
    registry: Flag | None = Field(
        default=None,
        description="Whether they use Confluent's wire format, with a schema id of the stack's Schema Registry.",
    )
    subject: Text | None = Field(
        default=None, description="The subject of the schema id; by default, <topic>-key or <topic>-value."
    )


class KeySpec(EncodedSpec):
    """The records' keys."""

    required: Flag | None = Field(default=None, description="Whether every record must have a key.")
    partitioner: Partitioner | None = Field(
        default=None,
        description="How producers choose the partition of a key: murmur2 in Java, crc32 by default in librdkafka.",
    )
    partition_expression: Text | None = Field(
        default=None,
        description="A custom partitioner, as Spark SQL over key (text) and partitions: ascii(key) % partitions.",
    )
    partition_function: FunctionName | None = Field(
        default=None,
        description="A custom partitioner, as a Python function of key (bytes) and partitions: module:function.",
    )
    max_share: Share | None = Field(
        default=None, description="The maximum share of the topic's records with the same key: 0.1."
    )


class ValueSpec(EncodedSpec):
    """The records' values."""


class HeadersSpec(ContentsSection):
    """The records' headers."""

    required: list[Text] | None = Field(default=None, description="Names of headers that every record must have.")


class TimestampsSpec(ContentsSection):
    """The records' timestamps."""

    type: Literal["CreateTime", "LogAppendTime"] | None = Field(
        default=None, description="The clock that sets them: the producer's (CreateTime) or the broker's."
    )
    max_ahead: Duration | None = Field(default=None, description="How far they may be in the future: 1h.")
    max_late: Duration | None = Field(
        default=None,
        description="How much older a record may be than the newest record before it in its partition: 1d.",
    )


class RecordsSpec(ContentsSection):
    """Limits of single records."""

    max_bytes: Size | None = Field(default=None, description="The maximum size of key and value, uncompressed: 64KiB.")
    per_day: PerDay | None = Field(
        default=None,
        description="Records written to all partitions on a normal day, to predict whether segments fill.",
    )


class PartitionsSpec(ContentsSection):
    """The distribution of records over partitions."""

    max_skew: Ratio | None = Field(
        default=None, description="The maximum size of a partition, as a multiple of the mean: 4.0."
    )


class RequirementSpec(ContentsSection):
    """A CEL expression that every record must meet."""

    id: str = Field(strict=True, pattern="^[a-z0-9]+(-[a-z0-9]+)*$", description="Its name in messages: `like-this`.")
    require: Text = Field(description="CEL over key, value, headers and timestamp: value.amount > 0.")
    message: Text | None = Field(default=None, description="What is wrong if it is false, and what to do.")


class ContentsSpec(ContentsSection):
    """The contract of the live records, which the audit checks."""

    key: Nullable[KeySpec] = KeySpec()
    value: Nullable[ValueSpec] = ValueSpec()
    headers: Nullable[HeadersSpec] = HeadersSpec()
    timestamps: Nullable[TimestampsSpec] = TimestampsSpec()
    records: Nullable[RecordsSpec] = RecordsSpec()
    partitions: Nullable[PartitionsSpec] = PartitionsSpec()
    expressions: list[RequirementSpec] | None = Field(
        default=None, description="CEL expressions that every record must meet."
    )


class ConfigSpec(ContentsSection):
    """Settings that are valid on every level: in a topic's document, in defaults, and for one stack."""

    description: Text | None = Field(default=None, description="The meaning of one record, and of its key.")
    owner: Text | None = Field(default=None, description="The team that owns the topic.")
    partitions: Partitions | None = Field(default=None, description="Number of partitions; it can only grow.")
    replication_factor: ReplicationFactor | None = Field(
        default=None, description="Number of replicas of each partition."
    )
    config: Config = Field(
        default={}, description="Kafka's topic configurations; the brokers' defaults apply to the others."
    )
    contents: Nullable[ContentsSpec] = ContentsSpec()


class PermissionSpec(ContentsSection):
    """One destructive change that is allowed, optionally until a day."""

    change: Allowance = Field(description="The change that is allowed.")
    until: Day | None = Field(default=None, description="The last day on which it is allowed, as 2027-01-31 (in UTC).")


Permission = Annotated[
    PermissionSpec,
    BeforeValidator(lambda value: value if isinstance(value, dict) else {"change": value}),
    _ChangeOrMapping(),
]


class TopicSettings(ConfigSpec):
    """Settings that are valid in a topic's own document: all of them, and the destructive changes that it allows."""

    allow: list[Permission] | None = Field(
        default=None,
        description="Destructive changes that are allowed, each by name: [delete], "
        "[{change: shrink-retention, until: 2027-01-31}].",
    )


class DefaultsSpec(ConfigSpec):
    """A ``_defaults.yaml``: applies to the topics in its folder and below."""

    stacks: Nullable[dict[str, Nullable[ConfigSpec]]] = Field(default={}, description="Overrides by stack.")


class TopicDocument(TopicSettings):
    """The declaration of one topic."""

    stacks: Nullable[dict[str, Nullable[TopicSettings]]] = Field(default={}, description="Overrides by stack.")
    topic: TopicName | None = Field(default=None, description="The topic's name; by default, the file's name.")
