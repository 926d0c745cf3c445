"""Compose YAML with libyaml and the scalars of YAML 1.2's core schema, instead of those of YAML 1.1.

``yes``, ``on``, ``12:30``, ``2027-01-31``, ``1_000``, ``0x10`` and ``010`` are text. YAML 1.1 would silently turn them
into booleans, 750, a date, 1000, 16 and 8. A setting of another type reports such text as a problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import yaml

TAG: Final = "tag:yaml.org,2002:"
MAX_DEPTH: Final = 20


def compose(text: str) -> Iterator[yaml.Node]:
    """Yield the root node of each document of ``text``. Raise ``yaml.MarkedYAMLError`` at the first syntax error."""
    # The composer recurses in C, so 100,000 brackets would crash the process. The parser's events need no recursion.
    if len(text) > 4096:
        _refuse_depth(text)
    yield from yaml.compose_all(text, _Loader)


class _Loader(yaml.CSafeLoader):
    """PyYAML's loader on libyaml, with the tags of YAML 1.2's core schema."""

    def resolve(self, kind: type[yaml.Node], value: str, implicit: tuple[bool, bool]) -> str:
        """Return the implicit tag of a node. Faster than PyYAML's method, which supports features not needed here."""
        if kind is yaml.ScalarNode:
            if implicit[0]:
                for tag in _TAGS.get(value[:1], ()):
                    if PATTERNS[tag].match(value):
                        return tag
            return _TEXT
        return _LIST if kind is yaml.SequenceNode else _MAPPING


_PLAIN: Final = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    # Fewer digits than Python's limit for int(); no leading zero, which YAML 1.1 reads as octal and 1.2 as decimal.
    "int": (r"[-+]?(?:0|[1-9][0-9]{0,99})", list("-+0123456789")),
    "float": (r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?", list("-+.0123456789")),
}
PATTERNS: Final = {TAG + name: re.compile(rf"(?:{pattern})\Z", re.ASCII) for name, (pattern, _) in _PLAIN.items()}
_TEXT, _LIST, _MAPPING = TAG + "str", TAG + "seq", TAG + "map"
_TAGS: Final = {
    first: [TAG + name for name, (_, begins) in _PLAIN.items() if first in begins]
    for first in {first for _, begins in _PLAIN.values() for first in begins}
}
"""The tags that a plain scalar may have besides text, by its first character (empty text for an empty scalar)."""


def _refuse_depth(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, _Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > 10 * MAX_DEPTH:
                mark = event.start_mark
                raise yaml.MarkedYAMLError(problem="this is nested too deeply", problem_mark=mark)  # type: ignore[arg-type]
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
