"""Reads the YAML of a stack's settings file, which Pulumi reads with another parser."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Problem
from topicwarden.model.regular_file import read_regular_file
from topicwarden.specs.yaml_nodes import UNREADABLE, ParsedDocument, read_documents

_RULE: Final = "stack-setting"
_NAMESPACES: Final = ("topicwarden:", "kafka:")


def read_stack_document(path: Path, file: str) -> tuple[ParsedDocument, list[Problem]]:
    """Return the document of ``path``, empty if there is none, and its problems as YAML.

    ``file`` is the path for messages. Raises OSError if the file cannot be read.
    """
    data = read_regular_file(path)
    documents, problems = read_documents(data, file)
    document = documents[0] if documents else ParsedDocument(file)
    problems += [problem for problem in document.problems if problem.rule in UNREADABLE]
    if not problems:
        problems += _ambiguous(document, _settings(yaml.safe_load(data)))
    return document, problems


def _ambiguous(document: ParsedDocument, older: dict[str, Any]) -> list[Problem]:
    """Return a problem for each setting that has another value in YAML 1.1, such as ``0123`` or ``yes``."""
    return [
        Problem(document.at(("config", name)), f"{name}: {quoted(str(value))} is no text in YAML 1.1; quote it", _RULE)
        for name, value in _settings(document.value).items()
        if name.startswith(_NAMESPACES) and isinstance(value, str) and not isinstance(older.get(name), str)
    ]


def _settings(document: Any) -> dict[str, Any]:
    config = document.get("config") if isinstance(document, dict) else None
    return config if isinstance(config, dict) else {}
