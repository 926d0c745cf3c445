"""Fix values whose error message names the correct value, and units that are unambiguous.

``"3"`` and ``1_000`` become numbers, ``yes`` a boolean, ``7D`` and ``7 days`` become ``7d``. ``1mb`` can mean MB or MiB
and is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import yaml
from pydantic import ValidationError

from topicwarden.kafka_facts import configs
from topicwarden.model.units import DURATION, SIZE, ValueUnit, unit_of
from topicwarden.specs.fix.text_edits import EditableDocument, TextEdit, apply_edits, replace_scalar
from topicwarden.specs.validation_errors import message_of
from topicwarden.specs.yaml_nodes import KeyPath

_REMEDY: Final = re.compile(r"; write (-?[0-9]+(?:\.[0-9]+)?|true|false)$")


def fix_suggested_values(text: str, documents: list[EditableDocument]) -> str:
    """Return ``text`` with each of these values replaced by the value in its message, without quotes."""
    return apply_edits(text, (edit for document in documents for edit in _edits(text, document)))


def _edits(text: str, document: EditableDocument) -> Iterator[TextEdit]:
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
