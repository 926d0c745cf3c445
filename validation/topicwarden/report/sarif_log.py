"""The parts of a SARIF 2.1.0 log that a check's problems and an audit's findings have in common."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from topicwarden import __version__
from topicwarden.model.problem import Location

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def log(rules: list[dict[str, Any]], results: Iterable[dict[str, Any]], **run: Any) -> str:
    """A log of one run, as JSON; ``run`` are more of the run's properties."""
    driver = {"name": "topicwarden", "semanticVersion": __version__, "rules": rules}
    described = {"tool": {"driver": driver}, **run, "columnKind": "utf16CodeUnits", "results": list(results)}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [described]}, indent=2) + "\n"


def rule(name: str, summary: str, text: str) -> dict[str, Any]:
    """A rule's description: in one sentence, and in full as Markdown."""
    return {
        "id": name,
        "shortDescription": {"text": summary},
        "fullDescription": {"text": text},
        "help": {"text": text, "markdown": text},
    }


def file(path: str) -> dict[str, Any]:
    """A place without a line; ``path`` is relative to the repository, as code scanning wants it."""
    return {"artifactLocation": {"uri": quote(path), "uriBaseId": "%SRCROOT%"}}


def at(place: Location, prefix: str, line: str) -> dict[str, Any]:
    """A place; ``prefix`` leads from the repository to the project, and ``line`` is what stands there."""
    region = {"startLine": place.line, "startColumn": _utf16_column(place, line)}
    return file(prefix + place.file) | {"region": region}


def _utf16_column(place: Location, line: str) -> int:
    """A character beyond the basic plane counts two."""
    return place.column + sum(ord(character) > 0xFFFF for character in line[: place.column - 1])
