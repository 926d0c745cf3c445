"""libyaml's composer with the scalars of YAML 1.2's core schema, not those of YAML 1.1.

``yes``, ``on``, ``12:30``, ``2027-01-31``, ``1_000``, ``0x10`` and ``010`` are text, which a setting that wants another
type refuses by name, instead of silently becoming a boolean, 750, a date, 1000, 16 and 8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import yaml

TAG: Final = "tag:yaml.org,2002:"
MAX_DEPTH: Final = 20


def compose(text: str) -> Iterator[yaml.Node]:
    """The root node of each document of ``text``; ``yaml.MarkedYAMLError`` where it stops to be YAML."""
    # Composing recurses in C, so that 100,000 brackets would end the process; events do not nest.
    if len(text) > 4096:
        _refuse_depth(text)
    yield from yaml.compose_all(text, _Loader)


class _Loader(yaml.CSafeLoader):
    """libyaml's composer without the scalars of YAML 1.1."""


_Loader.yaml_implicit_resolvers = {}


_PLAIN: Final = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    # Fewer digits than Python's limit for int(); no leading zero, which YAML 1.1 reads as octal and 1.2 as decimal.
    "int": (r"[-+]?(?:0|[1-9][0-9]{0,99})", list("-+0123456789")),
    "float": (r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?", list("-+.0123456789")),
}
PATTERNS: Final = {TAG + name: re.compile(rf"(?:{pattern})\Z", re.ASCII) for name, (pattern, _) in _PLAIN.items()}
for _name, (_, _first) in _PLAIN.items():
    _Loader.add_implicit_resolver(TAG + _name, PATTERNS[TAG + _name], _first)


def _refuse_depth(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, _Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > 10 * MAX_DEPTH:
                mark = event.start_mark
                raise yaml.MarkedYAMLError(problem="this is nested too deep", problem_mark=mark)  # type: ignore[arg-type]
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
