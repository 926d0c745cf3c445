"""Pydantic models of the files below ``subjects/``: subjects of a Schema Registry that are no single topic's."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from topicwarden.model.compatibility import Compatibility
from topicwarden.model.contents import RegistryReference
from topicwarden.model.field_types import Day, Name, Nullable, StrictModel, Text, or_text


class SubjectSpec(StrictModel):
    """A subject with its schema."""

    format: Literal["avro", "json", "protobuf"] | None = Field(default=None, description="The format of the schema.")
    schema_file: Text | None = Field(
        default=None,
        alias="schema",
        description="Path of the Avro schema, JSON Schema or .proto file, relative to this file.",
    )
    compatibility: Compatibility | None = Field(
        default=None, description="The compatibility level of the subject; by default, it is left as it is."
    )
    references: list[RegistryReference] | None = Field(
        default=None, description="Schemas in other subjects that the schema refers to."
    )
    owner: Text | None = Field(default=None, description="The team that owns the subject.")
    description: Text | None = Field(default=None, description="The meaning of the schema.")


_SubjectChange = Literal["break-readers", "delete-subject"]


class SubjectPermissionSpec(StrictModel):
    """One change of subjects that is allowed, optionally until a day."""

    change: _SubjectChange = Field(description="The change that is allowed.")
    until: Day | None = Field(default=None, description="The last day on which it is allowed, as 2027-01-31 (in UTC).")


class SubjectSettings(StrictModel):
    """All keys of a file below ``subjects/`` that can differ by stack."""

    subjects: Nullable[dict[Name, Nullable[SubjectSpec]]] = Field(default={}, description="Subjects by name.")
    allow: (
        list[Annotated[SubjectPermissionSpec, *or_text("change", {"enum": list(get_args(_SubjectChange))})]] | None
    ) = Field(default=None, description="Changes of subjects that are allowed, each by name: [delete-subject].")


class SubjectDocument(SubjectSettings):
    """A file below ``subjects/``: the subjects that are no single topic's."""

    stacks: Nullable[dict[str, Nullable[SubjectSettings]]] = Field(default={}, description="Overrides by stack.")
