"""Misspelt keys that are near to one known name, and to no other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError

from topicwarden.specs import configs
from topicwarden.specs.fix.text_edits import TextEdit, YamlDocument, edited, respell
from topicwarden.specs.validation_errors import known_keys
from topicwarden.specs.yaml_nodes import KeyPath

# A guess in a message may be wrong; a change of a file may not.
_NEAR: Final = 0.85


def misspelt_keys(text: str, documents: list[YamlDocument]) -> str:
    """``text`` with ``ownr`` as ``owner``, ``retenton.ms`` and ``log.retention.ms`` as ``retention.ms``."""
    return edited(text, (edit for document in documents for edit in _edits(text, document)))


def _edits(text: str, document: YamlDocument) -> Iterator[TextEdit]:
    meant = {path: name for path in _unknown(document) if (name := _meant(path, document))}
    wanted = Counter((*path[:-1], name) for path, name in meant.items())
    for path, name in meant.items():
        place = (*path[:-1], name)
        if (
            place not in document.nodes
            and wanted[place] == 1
            and (edit := respell(text, document.nodes[path][0], name))
        ):
            yield edit


def _unknown(document: YamlDocument) -> Iterator[KeyPath]:
    try:
        document.shape.model_validate(document.value)
    except ValidationError as error:
        for each in error.errors(include_url=False, include_context=False):
            if each["type"] in ("extra_forbidden", "config-unknown") and each["loc"] in document.nodes:
                yield each["loc"]


def _meant(path: KeyPath, document: YamlDocument) -> str | None:
    key = str(path[-1])
    if path[-2:-1] == ("config",):
        return _setting(key)
    return _only(key, known_keys(path[:-1], document.shape))


def _setting(key: str) -> str | None:
    definitions = configs.definitions()
    brokers = [each.name for each in definitions.values() if each.server_default == key]
    if brokers:
        return brokers[0] if len(brokers) == 1 else None
    found = _only(key, definitions)
    # retention.min may be meant in minutes; only the rest of the name may be misspelt.
    return found if found and _unit(found) in (None, _unit(key)) else None


def _only(key: str, known: Any) -> str | None:
    by_lower = {name.lower(): name for name in known}
    found = get_close_matches(key.lower(), by_lower, n=2, cutoff=_NEAR)
    return by_lower[found[0]] if len(found) == 1 else None


def _unit(setting: str) -> str | None:
    last = re.split(r"[._-]", setting.lower())[-1]
    return last if last in ("ms", "bytes") else None
