"""The declared contents of a topic: each setting under ``contents:`` of the YAML, defined once.

The loader validates YAML against these models, rules and checks read them, and ``audit/scan/contracts.py`` gives
them to the Java reader. Durations are milliseconds, and sizes are bytes of the uncompressed key and value. A schema is
the path as written, relative to the YAML file that names it.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from topicwarden.model.arrival import ArrivalContents
from topicwarden.model.compatibility import Compatibility, SubjectStrategy
from topicwarden.model.field_types import (
    Duration,
    Flag,
    Format,
    FunctionName,
    Nullable,
    Partitioner,
    PerDay,
    Period,
    Ratio,
    Share,
    Size,
    StrictModel,
    Text,
    custom_error,
)
from topicwarden.model.message_text import boolean_hint, describe_value


def path_steps(path: str) -> tuple[str, ...]:
    """Return the steps of a JSON pointer (``/a/b``) or of a dotted path (``a.b``) from a value to a field."""
    if not path.startswith("/"):
        return tuple(path.split("."))
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/"))


def _path(path: Any) -> Any:
    if not all(path_steps(path)):
        raise custom_error("type", "expected the path of a field, such as order.id or /order/id")
    return path


FieldPath = Annotated[Text, AfterValidator(_path)]
"""A JSON pointer, or a path with dots, to a single value in the records' values."""


class UniqueRule(StrictModel):
    """An identity that no two retained records have in common."""

    fields: tuple[FieldPath, ...] | None = Field(default=(), description="Fields of the value: order.id or /order/id.")
    header: Text | None = Field(default=None, description="A header, whose last value is a part of the identity.")
    key: Flag | None = Field(default=False, description="Whether the key is a part of the identity.")
    within: Period | None = Field(
        default=None, description="Only records whose timestamps differ by no more than this: 1d."
    )

    @property
    def label(self) -> str:
        """The names of the parts, for messages."""
        header = (f"header {self.header}",) if self.header else ()
        return ", ".join((*(self.fields or ()), *header, *(("key",) if self.key else ())))


class OrderedRule(StrictModel):
    """A field that never falls from one record of a key to the next in its partition."""

    field: FieldPath = Field(description="A field of the value: version or /version.")
    strict: Flag | None = Field(default=False, description="Whether it must rise with each record.")


DEFAULT_GRACE_MS: Final = 600_000


class ReferenceRule(StrictModel):
    """A field whose value is a key of another topic of the stack, or of the same one."""

    field: FieldPath = Field(description="A field of the value: customer_id or /customer/id.")
    topic: Text = Field(description="The topic whose keys the field refers to.")
    grace: Period | None = Field(
        default=None, description="Records whose timestamps are younger than this are not judged; by default 10m."
    )

    @property
    def grace_ms(self) -> int:
        """Return how old a record is when it is judged, in milliseconds."""
        return DEFAULT_GRACE_MS if self.grace is None else self.grace


class RegistryReference(StrictModel):
    """A schema in another subject that a schema refers to."""

    name: Text = Field(description="The name in the schema: an Avro full name, the path of an import, or a `$ref`.")
    subject: Text = Field(description="The subject of the referenced schema.")
    version: Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)] | None = Field(
        default=None, description="Its version; by default, the declared schema, or else the latest."
    )


class RegistryContents(StrictModel):
    """The subject under which a deploy registers the schema."""

    subject: Text | None = Field(default=None, description="The name of the subject; by default, as `strategy` says.")
    strategy: SubjectStrategy | None = Field(
        default=None,
        description="How serializers name the subject: topic (the default): <topic>-value; record: the schema's full "
        "name; topic-record: <topic>-<full name>.",
    )
    compatibility: Compatibility | None = Field(
        default=None, description="The compatibility level of the subject; by default, it is left as it is."
    )
    references: tuple[RegistryReference, ...] | None = Field(
        default=(), description="Schemas in other subjects that the schema refers to."
    )


def _registry_contents(value: Any) -> Any:
    """Return a mapping as ``RegistryContents``, with errors at its keys; any other valid value unchanged."""
    if isinstance(value, dict):
        return RegistryContents.model_validate(value)
    if value is None or isinstance(value, (bool, RegistryContents)):
        return value
    hint = boolean_hint(value) if isinstance(value, str) else ""
    expected = "true, false, or a mapping such as {compatibility: BACKWARD}"
    raise custom_error("type", f"expected {expected}, got {describe_value(value)}{hint}")


class EncodedContents(StrictModel):
    """The encoding of the keys or values."""

    format: Format | None = Field(default=None, description="The encoding of the bytes.")
    schema_file: Text | None = Field(
        default=None,
        alias="schema",
        description="Path of the JSON Schema, Avro schema or .proto file, relative to this file.",
    )
    message: Text | None = Field(
        default=None, description="The message type in the .proto file; by default, the first in the file."
    )
    registry: Annotated[Flag | RegistryContents | None, BeforeValidator(_registry_contents)] = Field(
        default=False,
        description="Whether they use Confluent's wire format, with a schema id of the stack's Schema Registry. A "
        "mapping also registers the schema.",
    )
    subject: Text | None = Field(
        default=None, description="The subject of the schema id; by default, <topic>-key or <topic>-value."
    )

    @property
    def registered(self) -> RegistryContents | None:
        """The subject under which a deploy registers the schema; None if it does not."""
        return self.registry if isinstance(self.registry, RegistryContents) else None


class KeyContents(EncodedContents):
    """The records' keys."""

    required: Flag | None = Field(default=False, description="Whether every record must have a key.")
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

    @property
    def placed(self) -> bool:
        """True if the YAML declares how keys map to partitions."""
        return bool(self.partitioner or self.partition_expression or self.partition_function)


class ValueContents(EncodedContents):
    """The records' values."""


class HeaderContents(StrictModel):
    """The records' headers."""

    required: tuple[Text, ...] | None = Field(default=(), description="Names of headers that every record must have.")


class TimestampContents(StrictModel):
    """The records' timestamps."""

    type: Literal["CreateTime", "LogAppendTime"] | None = Field(
        default=None, description="The clock that sets them: the producer's (CreateTime) or the broker's."
    )
    max_ahead: Duration | None = Field(default=None, description="How far they may be in the future: 1h.")
    max_late: Duration | None = Field(
        default=None,
        description="How much older a record may be than the newest record before it in its partition: 1d.",
    )


class RecordContents(StrictModel):
    """Limits of single records."""

    max_bytes: Size | None = Field(default=None, description="The maximum size of key and value, uncompressed: 64KiB.")
    per_day: PerDay | None = Field(
        default=None,
        description="Records written to all partitions on a normal day, to predict whether segments fill.",
    )


class PartitionContents(StrictModel):
    """The distribution of records over partitions."""

    max_skew: Ratio | None = Field(
        default=None, description="The maximum size of a partition, as a multiple of the mean: 4.0."
    )


class ConsumerContents(StrictModel):
    """The consumer groups that read the records."""

    max_lag: Period | None = Field(
        default=None, description="The maximum age of the oldest record that a group has not read: 1h."
    )


class RecordRequirement(StrictModel):
    """A CEL expression that every record must meet."""

    id: str = Field(strict=True, pattern="^[a-z0-9]+(-[a-z0-9]+)*$", description="Its name in messages: `like-this`.")
    require: Text = Field(description="CEL over key, value, headers and timestamp: value.amount > 0.")
    message: Text | None = Field(default=None, description="What is wrong if it is false, and what to do.")


class Contents(StrictModel):
    """The contract of the live records, which the audit checks."""

    key: Nullable[KeyContents] = KeyContents.with_defaults()
    value: Nullable[ValueContents] = ValueContents.with_defaults()
    headers: Nullable[HeaderContents] = HeaderContents.with_defaults()
    timestamps: Nullable[TimestampContents] = TimestampContents.with_defaults()
    records: Nullable[RecordContents] = RecordContents.with_defaults()
    partitions: Nullable[PartitionContents] = PartitionContents.with_defaults()
    consumers: Nullable[ConsumerContents] = ConsumerContents.with_defaults()
    arrival: Nullable[ArrivalContents] = ArrivalContents.with_defaults()
    personal: tuple[Text, ...] | None = Field(
        default=(), description="Paths of fields with personal data, which no output shows: email, address.street."
    )
    expressions: tuple[RecordRequirement, ...] | None = Field(
        default=(), description="CEL expressions that every record must meet."
    )

    ordered: tuple[OrderedRule, ...] | None = Field(
        default=(), description="Fields that never fall from one record of a key to the next."
    )
    unique: tuple[UniqueRule, ...] | None = Field(
        default=(), description="Identities that no two retained records have in common."
    )
    references: tuple[ReferenceRule, ...] | None = Field(
        default=(), description="Fields whose values are keys of a topic."
    )

    def encoding(self, part: str) -> EncodedContents:
        """Return the declared encoding of ``part``, which is ``key`` or ``value``."""
        return {"key": self.key, "value": self.value}[part]


NO_CONTENTS = Contents.with_defaults()
"""The contents of a topic that declares none."""
