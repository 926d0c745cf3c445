"""The schema files that a topic's ``contents`` name: their paths, relative to the YAML file that names them."""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from topicwarden.model.files import UnusableFile, read_regular_file
from topicwarden.specs.record_schemas import COMPILERS
from topicwarden.specs.record_schemas.referenced_schemas import References
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


class UnusableSchema(ValueError):
    """A schema file cannot be used. The message continues a sentence that begins with the file's name."""


class ProjectSchemas:
    """The schemas of a project: reads each file once, and compiles each schema once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._resolved_root = root.resolve()
        self._texts: dict[str, str | UnusableSchema] = {}
        self._errors: dict[tuple[str, str, str | None, References | None], str | None] = {}

    def text(self, path: str) -> str:
        """Return the text of the file at ``path``, relative to the project's root. Raises UnusableSchema."""
        if path not in self._texts:
            try:
                self._texts[path] = self._read(path)
            except UnusableSchema as error:
                self._texts[path] = error
        known = self._texts[path]
        if isinstance(known, UnusableSchema):
            raise UnusableSchema(str(known))
        return known

    def error(self, encoding: str, text: str, message: str | None, references: References | None = None) -> str | None:
        """Return the error of a schema, as ``COMPILERS`` does; None if it is valid."""
        key = (encoding, text, message, references)
        if key not in self._errors:
            self._errors[key] = COMPILERS[encoding](text, message, references)
        return self._errors[key]

    def _read(self, path: str) -> str:
        file = self._root / path
        if not Path(os.path.realpath(file)).is_relative_to(self._resolved_root):
            raise UnusableSchema("is outside the project; move the schema into the project")
        try:
            # Without a byte order mark and with these line ends, as on every other machine.
            return read_regular_file(file).decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise UnusableSchema("is not UTF-8; save it as UTF-8") from error
        except UnusableFile as error:
            raise UnusableSchema(f"cannot be read: {error.strerror}") from error
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or "its name is not valid"
            remedy = "the path is relative to the YAML file that names it"
            raise UnusableSchema(f"cannot be read: {reason}; {remedy}") from error
