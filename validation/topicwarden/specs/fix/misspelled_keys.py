"""Fix misspelled keys that are similar to exactly one known name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError

from topicwarden.kafka_facts import configs
from topicwarden.specs.fix.text_edits import EditableDocument, TextEdit, apply_edits, replace_scalar
from topicwarden.specs.validation_errors import known_keys
from topicwarden.specs.yaml_nodes import KeyPath

# A suggestion in a message may be wrong, but a change of a file may not: stricter than ``message_text.nearest``.
_MIN_SIMILARITY: Final = 0.85


def fix_misspelled_keys(text: str, documents: list[EditableDocument]) -> str:
    """Return ``text`` with corrected keys: ``owner`` for ``ownr``, ``retention.ms`` for ``log.retention.ms``."""
    return apply_edits(text, (edit for document in documents for edit in _edits(text, document)))


def _edits(text: str, document: EditableDocument) -> Iterator[TextEdit]:
    corrections = {path: name for path in _unknown_keys(document) if (name := _correct_name(path, document))}
    targets = Counter((*path[:-1], name) for path, name in corrections.items())
    for path, name in corrections.items():
        target = (*path[:-1], name)
        if (
            target not in document.nodes
            and targets[target] == 1
            and (edit := replace_scalar(text, document.nodes[path][0], name))
        ):
            yield edit


def _unknown_keys(document: EditableDocument) -> Iterator[KeyPath]:
    try:
        document.model.model_validate(document.value)
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_context=False):
            if detail["type"] in ("extra_forbidden", "config-unknown") and detail["loc"] in document.nodes:
                yield detail["loc"]


def _correct_name(path: KeyPath, document: EditableDocument) -> str | None:
    key = str(path[-1])
    if path[-2:-1] == ("config",):
        return _setting(key)
    return _only_similar(key, known_keys(path[:-1], document.model))


def _setting(key: str) -> str | None:
    definitions = configs.definitions()
    matches = [config.name for config in definitions.values() if config.server_default == key]
    if matches:
        return matches[0] if len(matches) == 1 else None
    similar = _only_similar(key, definitions)
    # retention.min may mean minutes: only the rest of the name may be misspelled, not the unit.
    return similar if similar and _unit_suffix(similar) in (None, _unit_suffix(key)) else None


def _only_similar(key: str, known: Any) -> str | None:
    by_lower = {name.lower(): name for name in known}
    similar = get_close_matches(key.lower(), by_lower, n=2, cutoff=_MIN_SIMILARITY)
    return by_lower[similar[0]] if len(similar) == 1 else None


def _unit_suffix(setting: str) -> str | None:
    last = re.split(r"[._-]", setting.lower())[-1]
    return last if last in ("ms", "bytes") else None
