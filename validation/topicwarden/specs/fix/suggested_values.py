"""Values for which the check's message says what to write: ``"3"`` and ``1_000`` where a number is needed, ``yes``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import yaml
from pydantic import ValidationError

from topicwarden.specs.fix.text_edits import TextEdit, YamlDocument, edited
from topicwarden.specs.validation_errors import message_of

_REMEDY: Final = re.compile(r"; write (-?[0-9]+(?:\.[0-9]+)?|true|false)$")


def said_values(text: str, documents: list[YamlDocument]) -> str:
    """``text`` with each of these values as its message spells it, without quotes."""
    return edited(text, (edit for document in documents for edit in _edits(text, document)))


def _edits(text: str, document: YamlDocument) -> Iterator[TextEdit]:
    try:
        document.shape.model_validate(document.value)
    except ValidationError as error:
        for each in error.errors(include_url=False):
            _, node = document.nodes.get(each["loc"], (None, None))
            remedy = _REMEDY.search(message_of(each))
            if remedy and isinstance(node, yaml.ScalarNode) and _plain(text, node):
                yield TextEdit(node.start_mark.index, node.end_mark.index, remedy[1])


def _plain(text: str, node: yaml.ScalarNode) -> bool:
    """Whether the value is written as it reads, in quotes or without; one with a tag or escapes is left alone."""
    raw = text[node.start_mark.index : node.end_mark.index]
    return node.value in (raw, raw[1:-1])
