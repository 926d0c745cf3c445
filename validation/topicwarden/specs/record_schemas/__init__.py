"""Compile the schemas of records without a JVM.

The audit's reader (Java) compiles every schema that is accepted here: tests compare both. The reader also accepts some
other schemas, which each module names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from topicwarden.specs.record_schemas import avro, json_schema, protobuf
from topicwarden.specs.record_schemas.referenced_schemas import References


class Compiler(Protocol):
    """A function that returns the error of a schema's text, or None."""

    def __call__(self, text: str, message: str | None, references: References | None = None, /) -> str | None:
        """Return the error, which continues a sentence that begins with the file's name.

        ``message`` is the message type of a ``.proto`` file. Empty text is its first message; with None, the file
        needs no message.
        """


COMPILERS: Final[Mapping[str, Compiler]] = {
    "json": lambda text, _, references=None: json_schema.schema_error(text, references),
    "avro": lambda text, _, references=None: avro.schema_error(text, references),
    "protobuf": protobuf.schema_error,
}
"""The compiler of each format."""


def record_name(encoding: str, text: str, message: str | None = None) -> str | None:
    """Return the name by which Confluent's serializers name the subject of a record; None if the schema has none.

    That is the full name of an Avro record or of a Protobuf message, and the ``title`` of a JSON Schema. Source:
    ``ParsedSchema.name()``. The schema need not compile.
    """
    if encoding == "protobuf":
        return protobuf.message_name(text, message)
    return avro.record_name(text) if encoding == "avro" else json_schema.title(text)
