"""Fix problems of a topic's YAML that have exactly one solution, and keep every other byte.

``"3"`` and ``1_000`` become numbers, ``yes`` a boolean, ``7D`` and ``7 days`` become ``7d``. ``1mb`` can mean MB or MiB
and is kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from difflib import get_close_matches
from functools import reduce
from operator import getitem
from typing import Any, Final, TypeAlias

import yaml
from pydantic import ValidationError

from topicwarden.kafka_facts import configs
from topicwarden.model.units import DURATION, SIZE, ValueUnit, unit_of
from topicwarden.specs.document_model import CommonSettings, DefaultsSpec, TopicDocument
from topicwarden.specs.text_edits import (
    EditableDocument,
    TextEdit,
    apply_edits,
    replace_scalar,
    sort_keys,
    yaml_documents,
)
from topicwarden.specs.validation_errors import known_keys, message_of
from topicwarden.specs.yaml_nodes import KeyPath, ParsedDocument, read_documents

# A suggestion in a message may be wrong, but a change of a file may not: stricter than ``message_text.nearest``.
_MIN_SIMILARITY: Final = 0.85


def fix_misspelled_keys(text: str, documents: list[EditableDocument]) -> str:
    """Return ``text`` with corrected keys: ``owner`` for ``ownr``, ``retention.ms`` for ``log.retention.ms``."""
    return apply_edits(text, (edit for document in documents for edit in _key_edits(text, document)))


def _key_edits(text: str, document: EditableDocument) -> Iterator[TextEdit]:
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


_REMEDY: Final = re.compile(r"; write (-?[0-9]{1,30}(?:\.[0-9]{1,30})?|true|false)$")


def fix_suggested_values(text: str, documents: list[EditableDocument]) -> str:
    """Return ``text`` with each of these values replaced by the value in its message, without quotes."""
    return apply_edits(text, (edit for document in documents for edit in _value_edits(text, document)))


def _value_edits(text: str, document: EditableDocument) -> Iterator[TextEdit]:
    edits: dict[KeyPath, TextEdit] = {}
    fixed: Any = deepcopy(document.value)
    for path, message in _invalid_values(document.model, document.value).items():
        _, node = document.nodes.get(path, (None, None))
        remedy = _REMEDY.search(message)
        if remedy and isinstance(node, yaml.ScalarNode) and _has_plain_text(text, node):
            edits[path] = TextEdit(node.start_mark.index, node.end_mark.index, remedy[1])
            parent = reduce(getitem, path[:-1], fixed)
            parent[path[-1]] = yaml.safe_load(remedy[1])
    still_invalid = _invalid_values(document.model, fixed) if edits else {}
    yield from (edit for path, edit in edits.items() if path not in still_invalid)


def _invalid_values(model: type[CommonSettings], value: Any) -> dict[KeyPath, str]:
    """Return the message for each invalid value, by its path."""
    try:
        model.model_validate(value)
    except ValidationError as error:
        return {detail["loc"]: message_of(detail) for detail in error.errors(include_url=False)}
    return {}


def _has_plain_text(text: str, node: yaml.ScalarNode) -> bool:
    """Return whether the scalar, without its quotes, is exactly its value: it has no tag and no escapes."""
    raw = text[node.start_mark.index : node.end_mark.index]
    return node.value in (raw, raw[1:-1])


_CONTENTS_UNITS: Final[Mapping[KeyPath, ValueUnit]] = {
    ("contents", "timestamps", "max_ahead"): DURATION,
    ("contents", "timestamps", "max_late"): DURATION,
    ("contents", "records", "max_bytes"): SIZE,
    ("contents", "arrival", "max_silence"): DURATION,
    ("contents", "arrival", "every"): DURATION,
}
_UNIT_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "ms": ("millisecond", "millis", "msec"),
    "s": ("second", "sec"),
    "m": ("minute", "min"),
    "h": ("hour", "hr"),
    "d": ("day",),
    "B": ("byte",),
}
_UNITS_BY_WORD: Final = {
    **{word: unit for unit, names in _UNIT_NAMES.items() for name in names for word in (name, f"{name}s")},
    **{unit.lower(): unit for unit in ("ms", "s", "h", "d", "B", "KiB", "MiB", "GiB", "TiB")},
    # Units of Kubernetes, such as Ki.
    **{unit[:2].lower(): unit for unit in ("KiB", "MiB", "GiB", "TiB")},
}
"""Units by lower-case word, for unambiguous words only: M can mean minutes, months or a million."""
_UNLIMITED: Final = ("forever", "unlimited", "infinite")


def fix_units(text: str, documents: list[EditableDocument]) -> str:
    """Return ``text`` with a valid unit in every duration and size whose unit is invalid but unambiguous."""
    return apply_edits(text, (edit for document in documents for edit in _unit_edits(text, document)))


def _unit_edits(text: str, document: EditableDocument) -> Iterator[TextEdit]:
    for path, (_, node) in document.nodes.items():
        setting = path[2:] if path[0] == "stacks" else path
        if not isinstance(node, yaml.ScalarNode) or not node.tag.endswith(":str"):
            continue
        replacement = _with_known_unit(str(setting[-1]), node.value) if setting[:-1] == ("config",) else None
        if setting in _CONTENTS_UNITS:
            replacement = _with_unit(_CONTENTS_UNITS[setting], node.value)
        if replacement is not None and (edit := replace_scalar(text, node, replacement)):
            yield edit


def _with_known_unit(name: str, value: str) -> str | None:
    unit, definition = unit_of(name), configs.definition(name)
    if unit is None or definition is None:
        return None
    if value.lower() in _UNLIMITED:
        return "-1" if definition.problem("-1") is None else None
    return _with_unit(unit, value)


def _with_unit(unit: ValueUnit, value: str) -> str | None:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([A-Za-z]+)", value, re.ASCII)
    if match is None or match[2] in unit.suffixes:
        return None
    unit_suffix = _UNITS_BY_WORD.get(match[2].lower())
    return match[1] + unit_suffix if unit_suffix in unit.suffixes else None


Step: TypeAlias = Callable[[str, list[EditableDocument]], str]

_BOM: Final = b"\xef\xbb\xbf"
_STEPS: Final[tuple[Step, ...]] = (fix_misspelled_keys, fix_units, fix_suggested_values, sort_keys)


def apply_fixes(data: bytes, defaults: bool) -> bytes:
    """Return the content of a file with all fixes; ``defaults`` is set for a ``_defaults.yaml``.

    Fixes misspelled keys with one similar name, units, numbers and booleans written as text, and the order of a
    document's top-level keys. A problem with several solutions is kept. A file that is not YAML, or that has a key
    twice, is returned unchanged.
    """
    documents = _read(data)
    if documents is None:
        return data
    byte_order_mark = _BOM if data.startswith(_BOM) else b""
    text = data.decode("utf-8-sig")
    previous = None
    # After a key is fixed, the keys below it are known and can be fixed in the next pass.
    while text != previous:
        previous = text
        for step in _STEPS:
            text, documents = _apply_step(step, text, documents, DefaultsSpec if defaults else TopicDocument)
    return byte_order_mark + text.encode("utf-8")


def _apply_step(
    step: Step, text: str, documents: list[ParsedDocument], model: type[CommonSettings]
) -> tuple[str, list[ParsedDocument]]:
    changed = step(text, yaml_documents(text, documents, model))
    after = None if changed == text else _read(changed.encode("utf-8"))
    # The edits change text. Discard them if the result is not YAML with the same number of documents.
    if after is None or len(after) != len(documents) or (step is sort_keys and not _same_values(after, documents)):
        return text, documents
    return changed, after


def _read(data: bytes) -> list[ParsedDocument] | None:
    documents, problems = read_documents(data, "")
    return None if problems or any(document.problems for document in documents) else documents


def _same_values(after: list[ParsedDocument], previous: list[ParsedDocument]) -> bool:
    return [document.value for document in after] == [document.value for document in previous]
