"""The shape of one document: what a topic's YAML and a ``_defaults.yaml`` may say.

Validated values are in Kafka's own units and spelling. What was not written is not set; null unsets what is
inherited, except where a mapping stands: there it says nothing, as all beneath it is often just commented out.
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
from topicwarden.specs.message_text import seen, wholly
from topicwarden.specs.topic_names import MAX_LENGTH, name_problem
from topicwarden.specs.units import DURATION, SIZE, ValueUnit

T = TypeVar("T")


def _number_of(unit: ValueUnit) -> Callable[[Any], Any]:
    def number(value: Any) -> Any:
        if isinstance(value, str):
            try:
                return unit.parse(value)
            except ValueError as error:
                raise custom_error("value", str(error)) from error
        if isinstance(value, bool) or not isinstance(value, int):
            plain = wholly(value) if isinstance(value, float) else ""
            raise custom_error("type", f"expected a {unit.noun} such as {unit.example}, seen {seen(value)}{plain}")
        return value

    return number


def _day(value: Any) -> date:
    try:
        if isinstance(value, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value, re.ASCII):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise custom_error("value", f"expected a day of the calendar such as 2027-01-31, seen {seen(value)}")


def _legal_name(value: str) -> str:
    if problem := name_problem(value):
        raise custom_error("topic-name", problem)
    return value


class _OrNull:
    """Tells the JSON Schema that null may stand where a mapping does."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [handler(schema), {"type": "null"}]}


class _OrWord:
    """Tells the JSON Schema that the name of the change alone may stand where a mapping does."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"enum": [each.value for each in Allowance]}, handler(schema)]}


def _written(unit: ValueUnit, minimum: int) -> WithJsonSchema:
    number = {"type": "integer", "minimum": minimum}
    return WithJsonSchema({"anyOf": [number, {"type": "string", "pattern": unit.pattern}]})


Text = Annotated[str, Field(strict=True, min_length=1)]
Flag = Annotated[bool, Field(strict=True)]
Partitions = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
ReplicationFactor = Annotated[int, Field(strict=True, ge=1, le=2**15 - 1)]
PerDay = Annotated[int, Field(strict=True, ge=0)]
Ratio = Annotated[float, Field(strict=True, ge=1, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]
Duration = Annotated[int, BeforeValidator(_number_of(DURATION)), Field(ge=0), _written(DURATION, 0)]
Size = Annotated[int, BeforeValidator(_number_of(SIZE)), Field(ge=1), _written(SIZE, 1)]
Day = Annotated[date, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
TopicName = Annotated[
    str,
    Field(strict=True, json_schema_extra={"pattern": rf"^[a-zA-Z0-9._-]{{1,{MAX_LENGTH}}}$"}),
    AfterValidator(_legal_name),
]
Nullable = Annotated[T, BeforeValidator(lambda value: {} if value is None else value), _OrNull()]

Format = Literal["string", "json", "avro", "protobuf", "bytes", "int", "long", "uuid"]
Partitioner = Literal["murmur2", "crc32", "fnv1a", "sarama"]
FUNCTION = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"
FunctionName = Annotated[str, Field(strict=True, pattern=FUNCTION)]


class ContentsSection(BaseModel):
    """A mapping whose keys are known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EncodedSpec(ContentsSection):
    """What the bytes of a key or a value are."""

    format: Format | None = Field(default=None, description="What the bytes are.")
    schema_: Text | None = Field(
        default=None,
        alias="schema",
        description="File of the JSON Schema, Avro schema or .proto that they meet, relative to this file.",
    )
    message: Text | None = Field(
        default=None, description="The message of a .proto that they are; the first of the file where not given."
    )
    registry: Flag | None = Field(
        default=None,
        description="Whether they are in Confluent's wire format, by a schema id of the stack's Schema Registry.",
    )
    subject: Text | None = Field(
        default=None, description="The subject that the schema id belongs to; else <topic>-key or <topic>-value."
    )


class KeySpec(EncodedSpec):
    """The records' keys."""

    required: Flag | None = Field(default=None, description="Whether every record must have a key.")
    partitioner: Partitioner | None = Field(
        default=None,
        description="How producers choose the partition of a key: murmur2 is Java's way, crc32 librdkafka's default.",
    )
    partition_expression: Text | None = Field(
        default=None,
        description="A partitioner of one's own, as Spark SQL over key (text) and partitions: ascii(key) % partitions.",
    )
    partition_function: FunctionName | None = Field(
        default=None,
        description="A partitioner of one's own, as a Python function of key (bytes) and partitions: module:function.",
    )
    max_share: Share | None = Field(
        default=None, description="Which share of the topic's records one key may have at most: 0.1."
    )


class ValueSpec(EncodedSpec):
    """The records' values."""


class HeadersSpec(ContentsSection):
    """The records' headers."""

    required: list[Text] | None = Field(default=None, description="Names of headers that every record must have.")


class TimestampsSpec(ContentsSection):
    """The records' timestamps."""

    type: Literal["CreateTime", "LogAppendTime"] | None = Field(default=None, description="Whose clock they tell.")
    max_ahead: Duration | None = Field(default=None, description="How far they may lie in the future: 1h.")
    max_late: Duration | None = Field(
        default=None,
        description="How much older than the youngest record before it in its partition a record may be: 1d.",
    )


class RecordsSpec(ContentsSection):
    """Single records."""

    max_bytes: Size | None = Field(default=None, description="Largest key and value, uncompressed: 64KiB.")
    per_day: PerDay | None = Field(
        default=None,
        description="How many are written on an ordinary day, in all partitions: tells whether segments fill.",
    )


class PartitionsSpec(ContentsSection):
    """How records spread over the partitions."""

    max_skew: Ratio | None = Field(default=None, description="How many times the mean one partition may hold.")


class RequirementSpec(ContentsSection):
    """What must be true of every record."""

    id: str = Field(strict=True, pattern="^[a-z0-9]+(-[a-z0-9]+)*$", description="Its name in messages: `like-this`.")
    require: Text = Field(description="CEL over key, value, headers and timestamp: value.amount > 0.")
    message: Text | None = Field(default=None, description="What is wrong where it is not true, and what to do.")


class ContentsSpec(ContentsSection):
    """What the live records must look like; only the audit can tell."""

    key: Nullable[KeySpec] = KeySpec()
    value: Nullable[ValueSpec] = ValueSpec()
    headers: Nullable[HeadersSpec] = HeadersSpec()
    timestamps: Nullable[TimestampsSpec] = TimestampsSpec()
    records: Nullable[RecordsSpec] = RecordsSpec()
    partitions: Nullable[PartitionsSpec] = PartitionsSpec()
    expressions: list[RequirementSpec] | None = Field(default=None, description="What must be true of every record.")


class ConfigSpec(ContentsSection):
    """What may be said of a topic on every level: in its own document, in defaults, for one stack."""

    description: Text | None = Field(default=None, description="What one record means, and by what it is keyed.")
    owner: Text | None = Field(default=None, description="The team that answers for the topic.")
    partitions: Partitions | None = Field(default=None, description="How many partitions; they can only grow.")
    replication_factor: ReplicationFactor | None = Field(default=None, description="How many brokers hold each.")
    config: Config = Field(default={}, description="Kafka's topic configurations; else the broker's hold.")
    contents: Nullable[ContentsSpec] = ContentsSpec()


class PermissionSpec(ContentsSection):
    """One destructive change that is allowed, until a day."""

    change: Allowance = Field(description="The change that is allowed.")
    until: Day | None = Field(default=None, description="The last day on which it is allowed, as 2027-01-31 (in UTC).")


Permission = Annotated[
    PermissionSpec, BeforeValidator(lambda value: value if isinstance(value, dict) else {"change": value}), _OrWord()
]


class TopicSettings(ConfigSpec):
    """What a topic's own document may say: everything, and which destructive changes it allows."""

    allow: list[Permission] | None = Field(
        default=None,
        description="Destructive changes that are allowed, each by name: [delete], "
        "[{change: shrink-retention, until: 2027-01-31}].",
    )


class DefaultsSpec(ConfigSpec):
    """A ``_defaults.yaml``: holds for the topics of its folder and below."""

    stacks: Nullable[dict[str, Nullable[ConfigSpec]]] = Field(default={}, description="What differs by stack.")


class TopicDocument(TopicSettings):
    """One topic."""

    stacks: Nullable[dict[str, Nullable[TopicSettings]]] = Field(default={}, description="What differs by stack.")
    topic: TopicName | None = Field(default=None, description="The topic's name; without it, the file's.")
