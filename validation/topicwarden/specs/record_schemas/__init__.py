"""Schemas of records, compiled as far as that needs no JVM.

What is accepted here compiles in the audit's reader too; the tests compare both. What the reader accepts beyond that,
for example Avro types that are used before they are defined, is refused, because nobody would notice a difference in
meaning before the audit does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from topicwarden.specs.record_schemas import avro, json_schema, protobuf

COMPILERS: Final[Mapping[str, Callable[[str, str | None], str | None]]] = {
    "json": lambda text, _: json_schema.schema_error(text),
    "avro": lambda text, _: avro.schema_error(text),
    "protobuf": protobuf.schema_error,
}
"""For each format with schemas, what is wrong with a schema's text, to be said after the name of its file, or None. The
second argument is the message of a ``.proto``; None is its first one.
"""
