"""The schema files that a topic's ``contents`` name: their paths, relative to the YAML file that names them."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from topicwarden.specs.resolve import Declaration

SUFFIXES: Final = MappingProxyType({"json": ".json", "avro": ".avsc", "protobuf": ".proto"})
"""The suffix of a new schema file, by format."""


@dataclass(frozen=True)
class SchemaText:
    """A schema that an import writes to a file: ``part`` is ``key`` or ``value``, ``format`` is a key of SUFFIXES."""

    part: str
    format: str
    text: str


def schema_path(declaration: Declaration, part: str) -> str | None:
    """Return the path of the schema of ``part`` (``key`` or ``value``), relative to the project's root.

    None if the topic declares no schema for this part.
    """
    written = declaration.topic.contents.encoding(part).schema_file
    if written is None:
        return None
    file = declaration.locations.at(("contents", part, "schema")).file
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), written))
