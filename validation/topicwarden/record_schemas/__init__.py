"""Compile the schemas of records without a JVM.

The audit's reader (Java) compiles every schema that is accepted here: tests compare both. The reader also accepts other
schemas, for example Avro types that are used before their definition. Those are rejected here, because a different
interpretation would go unnoticed until the audit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from topicwarden.record_schemas import avro, json_schema, protobuf

COMPILERS: Final[Mapping[str, Callable[[str, str | None], str | None]]] = {
    "json": lambda text, _: json_schema.schema_error(text),
    "avro": lambda text, _: avro.schema_error(text),
    "protobuf": protobuf.schema_error,
}
"""By format, a function that returns the error of a schema's text, or None.

The error continues a sentence that begins with the file's name. The second argument is the message type of a
``.proto`` file; None is its first message.
"""
