"""Units that can mean one thing only: ``7D`` and ``7 days`` are ``7d``; ``1mb`` may be MB or MiB and stays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import yaml

from topicwarden.specs import configs
from topicwarden.specs.fix.text_edits import TextEdit, YamlDocument, edited, respell
from topicwarden.specs.units import DURATION, SIZE, ValueUnit, unit_of
from topicwarden.specs.yaml_nodes import KeyPath

_CONTENTS: Final[Mapping[KeyPath, ValueUnit]] = {
    ("contents", "timestamps", "max_ahead"): DURATION,
    ("contents", "timestamps", "max_late"): DURATION,
    ("contents", "records", "max_bytes"): SIZE,
}
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "ms": ("millisecond", "millis", "msec"),
    "s": ("second", "sec"),
    "m": ("minute", "min"),
    "h": ("hour", "hr"),
    "d": ("day",),
    "B": ("byte",),
}
_WORDS: Final = {
    **{word: unit for unit, names in _NAMES.items() for name in names for word in (name, f"{name}s")},
    **{unit.lower(): unit for unit in ("ms", "s", "h", "d", "B", "KiB", "MiB", "GiB", "TiB")},
    # As Kubernetes writes them.
    **{unit[:2].lower(): unit for unit in ("KiB", "MiB", "GiB", "TiB")},
}
"""Lower-case words to the unit that each can only mean: an M may be a minute, a month or a million."""
_ENDLESS: Final = ("forever", "unlimited", "infinite")


def unit_spelling(text: str, documents: list[YamlDocument]) -> str:
    """``text`` with every duration and size that is taken for none, and can only mean one, spelled as it is taken."""
    return edited(text, (edit for document in documents for edit in _edits(text, document)))


def _edits(text: str, document: YamlDocument) -> Iterator[TextEdit]:
    for path, (_, node) in document.nodes.items():
        below = path[2:] if path[0] == "stacks" else path
        if not isinstance(node, yaml.ScalarNode) or not node.tag.endswith(":str"):
            continue
        new = _setting(str(below[-1]), node.value) if below[:-1] == ("config",) else None
        if below in _CONTENTS:
            new = _respelt(_CONTENTS[below], node.value)
        if new is not None and (edit := respell(text, node, new)):
            yield edit


def _setting(name: str, value: str) -> str | None:
    unit, definition = unit_of(name), configs.definition(name)
    if unit is None or definition is None:
        return None
    if value.lower() in _ENDLESS:
        return "-1" if definition.problem("-1") is None else None
    return _respelt(unit, value)


def _respelt(unit: ValueUnit, value: str) -> str | None:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([A-Za-z]+)", value, re.ASCII)
    if match is None or match[2] in unit.suffixes:
        return None
    meant = _WORDS.get(match[2].lower())
    return match[1] + meant if meant in unit.suffixes else None
