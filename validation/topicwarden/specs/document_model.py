"""Pydantic models of the documents: a topic's YAML, a ``_defaults.yaml``, and a file below ``access/``.

Validated values are in Kafka's units and spelling. A missing key is not set; null unsets the inherited value. Null for
a mapping has no effect, because it often means that all keys below are commented out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, GetJsonSchemaHandler, create_model
from pydantic_core import CoreSchema

from topicwarden.kafka_facts.config_values import Config
from topicwarden.kafka_facts.topic_names import MAX_LENGTH, name_problem
from topicwarden.kinds import in_file_order
from topicwarden.kinds.access_spec import AccessSpec
from topicwarden.kinds.acl.spec import TopicAccessSpec
from topicwarden.model.contents import Contents
from topicwarden.model.field_types import (
    BuiltAtFirstUse,
    Day,
    Nullable,
    Partitions,
    ReplicationFactor,
    StrictModel,
    Text,
    custom_error,
    or_text,
)
from topicwarden.model.topic import AllowedChange


def _check_name(value: str) -> str:
    if problem := name_problem(value):
        raise custom_error("topic-name", problem)
    return value


class _ChangeOrMapping:
    """Adds the name of the change alone to the JSON Schema of a mapping."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"enum": [allowance.value for allowance in AllowedChange]}, handler(schema)]}


TopicName = Annotated[
    str,
    Field(strict=True, json_schema_extra={"pattern": rf"^[a-zA-Z0-9._-]{{1,{MAX_LENGTH}}}$"}),
    AfterValidator(_check_name),
]


class CommonSettings(StrictModel):
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
    contents: Nullable[Annotated[Contents, BuiltAtFirstUse()]] = Contents.with_defaults()
    access: Nullable[Annotated[TopicAccessSpec, BuiltAtFirstUse()]] = Field(
        default=TopicAccessSpec.with_defaults(), description="Who may use the topic."
    )


class PermissionSpec(StrictModel):
    """One destructive change that is allowed, optionally until a day."""

    change: AllowedChange = Field(description="The change that is allowed.")
    until: Day | None = Field(default=None, description="The last day on which it is allowed, as 2027-01-31 (in UTC).")


Allowance = Annotated[
    PermissionSpec,
    BeforeValidator(lambda value: value if isinstance(value, dict) else {"change": value}),
    _ChangeOrMapping(),
]


class TopicSettings(CommonSettings):
    """Settings that are valid in a topic's own document: all of them, and the destructive changes that it allows."""

    allow: list[Allowance] | None = Field(
        default=None,
        description="Destructive changes that are allowed, each by name: [delete], "
        "[{change: shrink-retention, until: 2027-01-31}].",
    )


class DefaultsSpec(CommonSettings):
    """A ``_defaults.yaml``: applies to the topics in its folder and below."""

    stacks: Nullable[dict[str, Nullable[CommonSettings]]] = Field(default={}, description="Overrides by stack.")


class TopicDocument(TopicSettings):
    """The declaration of one topic."""

    stacks: Nullable[dict[str, Nullable[TopicSettings]]] = Field(default={}, description="Overrides by stack.")
    topic: TopicName | None = Field(default=None, description="The topic's name; by default, the file's name.")


ACCESS_SPECS: Final[tuple[AccessSpec, ...]] = tuple(each.SPEC for each in in_file_order("spec"))
_AccessChange = Literal[
    "revoke-access", "first-acl", "open-access", "throttle-clients", "remove-credential", "replace-credential"
]


class AccessPermissionSpec(StrictModel):
    """One change of access that is allowed, optionally until a day."""

    change: _AccessChange = Field(description="The change that is allowed.")
    until: Day | None = Field(default=None, description="The last day on which it is allowed, as 2027-01-31 (in UTC).")


if TYPE_CHECKING:
    _KindSettings = StrictModel
else:  # pydantic collects the fields of the last base first
    _KindSettings = create_model("_KindSettings", __base__=tuple(each.settings for each in reversed(ACCESS_SPECS)))


class AccessSettings(_KindSettings):
    """All keys of a file below ``access/`` that can differ by stack."""

    allow: list[Annotated[AccessPermissionSpec, *or_text("change", {"enum": list(get_args(_AccessChange))})]] | None = (
        Field(default=None, description="Changes of access that are allowed, each by name: [revoke-access].")
    )


class AccessDocument(AccessSettings):
    """A file below ``access/``: the access that is not a single topic's."""

    stacks: Nullable[dict[str, Nullable[AccessSettings]]] = Field(default={}, description="Overrides by stack.")
