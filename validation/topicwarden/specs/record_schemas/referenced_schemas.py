"""The schemas of other subjects that a schema of a Schema Registry may refer to."""

from __future__ import annotations

from typing import TypeAlias

References: TypeAlias = tuple[tuple[str, str | None], ...]
"""Pairs of a name in the schema and the referenced text, so that each comes after those that it refers to itself.

A text of None is not known. Instead of References, None is for schemas outside of a registry, which cannot refer to
others.
"""


def unknown_names(references: References | None) -> frozenset[str]:
    """Return the names whose text is not known."""
    return frozenset(name for name, text in references or () if text is None)
