"""Read cases from YAML files: named good and bad inputs, each with what the product must say about them.

A file has the sections ``bad`` and ``good``. A case has ``files`` (path to text), and may have ``expected``, ``links``
(path to the target of a symbolic link), and ``encodings`` (path to an encoding other than UTF-8).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

Kind = Literal["bad", "good"]
KINDS: tuple[Kind, ...] = ("bad", "good")


@dataclass(frozen=True)
class Case:
    name: str
    files: Mapping[str, str]
    expected: str = ""
    links: Mapping[str, str] = field(default_factory=dict)
    encodings: Mapping[str, str] = field(default_factory=dict)

    def data(self) -> dict[str, bytes]:
        """Return the content of each file."""
        return {path: text.encode(self.encodings.get(path, "utf-8")) for path, text in self.files.items()}

    def write(self, folder: Path) -> Path:
        """Write the files and links into the folder, and return the folder."""
        for name, data in self.data().items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        for name, target in self.links.items():
            (folder / name).symlink_to(target)
        return folder


class _UniqueKeys(yaml.CSafeLoader):
    """Refuse a key that is written twice, because one of two cases would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        mapping = super().construct_mapping(node, deep)
        if len(mapping) != len(node.value):
            raise yaml.constructor.ConstructorError(None, None, "a key is written twice", node.start_mark)
        return mapping


@cache
def _read(folder: Path) -> dict[str, dict[str, Case]]:
    kinds: dict[str, dict[str, Case]] = {kind: {} for kind in KINDS}
    for path in sorted(folder.glob("*.yaml")):
        for kind, entries in yaml.load(path.read_text(encoding="utf-8"), _UniqueKeys).items():
            for name, entry in entries.items():
                assert name not in kinds[kind], f"{path}: a second {kind} case with the name {name}"
                kinds[kind][name] = Case(name, **entry)
    return kinds


def cases(folder: Path, kind: Kind) -> list[Case]:
    """Return the cases of this kind in all files of the folder, by name."""
    return sorted(_read(folder)[kind].values(), key=lambda case: case.name)


def find_case(folder: Path, kind: Kind, name: str) -> Case:
    return _read(folder)[kind][name]
