"""Paths of the schema files that a topic's ``contents`` name, relative to the YAML file that names them."""

from __future__ import annotations

import posixpath

from topicwarden.specs.resolve import Declaration


def schema_path(declaration: Declaration, part: str) -> str | None:
    """Return the path of the schema of ``part`` (``key`` or ``value``), relative to the project's root.

    None if the topic declares no schema for this part.
    """
    written: str | None = getattr(declaration.topic.contents, f"{part}_schema")
    if written is None:
        return None
    file = declaration.places.at(("contents", part, "schema")).file
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), written))
