"""Where the schema files lie that a topic's ``contents`` name: relative to the YAML file that names them."""

from __future__ import annotations

import posixpath

from topicwarden.specs.resolve import Declaration


def schema_path(declaration: Declaration, part: str) -> str | None:
    """The file of the schema of ``key`` or ``value``, relative to the project; None where none is declared."""
    written: str | None = getattr(declaration.topic.contents, f"{part}_schema")
    if written is None:
        return None
    file = declaration.places.at(("contents", part, "schema")).file
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), written))
