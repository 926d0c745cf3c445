"""The parts of a SARIF 2.1.0 log that are common to `topicwarden check` and `topicwarden audit`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from topicwarden import __version__
from topicwarden.model.problem import Location

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def log(rules: list[dict[str, Any]], results: Iterable[dict[str, Any]], **run: Any) -> str:
    """Return a log with one run as JSON; ``run`` contains additional properties of the run."""
    driver = {"name": "topicwarden", "semanticVersion": __version__, "rules": rules}
    described = {"tool": {"driver": driver}, **run, "columnKind": "utf16CodeUnits", "results": list(results)}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [described]}, indent=2) + "\n"


def rule(name: str, summary: str, text: str) -> dict[str, Any]:
    """Return a rule's description; ``summary`` is one sentence, ``text`` the full text in Markdown."""
    return {
        "id": name,
        "shortDescription": {"text": summary},
        "fullDescription": {"text": text},
        "help": {"text": text, "markdown": text},
    }


def file(path: str) -> dict[str, Any]:
    """Return a location without a line. ``path`` is relative to the repository, as code scanning requires."""
    return {"artifactLocation": {"uri": quote(path), "uriBaseId": "%SRCROOT%"}}


def at(location: Location, prefix: str, line: str) -> dict[str, Any]:
    """Return a location with line and column.

    ``prefix`` is the path from the repository to the project; ``line`` is the text of the line.
    """
    region = {"startLine": location.line, "startColumn": _utf16_column(location, line)}
    return file(prefix + location.file) | {"region": region}


def _utf16_column(location: Location, line: str) -> int:
    """Return the column in UTF-16 code units: a character outside of the Basic Multilingual Plane counts as two."""
    return location.column + sum(ord(character) > 0xFFFF for character in line[: location.column - 1])
