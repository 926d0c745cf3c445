"""Fix values whose error message names the correct value: ``"3"`` or ``1_000`` for a number, ``yes`` for a boolean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import yaml
from pydantic import ValidationError

from topicwarden.specs.fix.text_edits import TextEdit, YamlDocument, apply_edits
from topicwarden.specs.validation_errors import message_of

_REMEDY: Final = re.compile(r"; write (-?[0-9]+(?:\.[0-9]+)?|true|false)$")


def fix_suggested_values(text: str, documents: list[YamlDocument]) -> str:
    """Return ``text`` with each of these values replaced by the value in its message, without quotes."""
    return apply_edits(text, (edit for document in documents for edit in _edits(text, document)))


def _edits(text: str, document: YamlDocument) -> Iterator[TextEdit]:
    try:
        document.model.model_validate(document.value)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            _, node = document.nodes.get(detail["loc"], (None, None))
            remedy = _REMEDY.search(message_of(detail))
            if remedy and isinstance(node, yaml.ScalarNode) and _has_plain_text(text, node):
                yield TextEdit(node.start_mark.index, node.end_mark.index, remedy[1])


def _has_plain_text(text: str, node: yaml.ScalarNode) -> bool:
    """Return whether the scalar, without its quotes, is exactly its value: it has no tag and no escapes."""
    raw = text[node.start_mark.index : node.end_mark.index]
    return node.value in (raw, raw[1:-1])
