"""Read cases from YAML files: named good and bad inputs, each with what the product must say about them.

A file has the sections ``bad`` and ``good``. A case has ``files`` (path to text), and may have ``expected``, ``links``
(path to the target of a symbolic link), and ``encodings`` (path to an encoding other than UTF-8).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from topicwarden.extensions.interchange.convert import SourceFile
from topicwarden.model.project import Project
from topicwarden.specs.load import load
from topicwarden.specs.resolve import resolve

# Read cases from YAML files: named good and bad inputs, each with what the product must say about them.

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


# The projects in ``tests/unit/policies/cases``, which the check and the policy pack judge alike.

POLICY_CASES = Path(__file__).parents[1] / "unit" / "policies" / "cases"
STACKS = ("dev", "prod")
TODAY = date(2026, 6, 1)
"""The date on which all cases are judged."""


def project_of(case: Case, folder: Path) -> Project:
    """Write the project of a case. A case without ``stacks/`` gets the stacks dev and prod."""
    tree = case.write(folder / case.name)
    if not (tree / "stacks").is_dir():
        (tree / "stacks").mkdir()
        for stack in STACKS:
            (tree / "stacks" / f"Pulumi.{stack}.yaml").touch()
    return Project(tree)


# The imports in ``tests/unit/importing/cases``: files of other tools, with the topics or problems that follow.

IMPORT_CASES = Path(__file__).parents[1] / "unit" / "importing" / "cases"


def sources(case: Case, folder: Path | None = None) -> list[SourceFile]:
    """Return the files of a case, except those in a folder, to which others refer; ``folder`` has all of them."""
    names = [(name, data) for name, data in sorted(case.data().items()) if "/" not in name]
    return [SourceFile(name, data, folder / name if folder else None, folder) for name, data in names]


def source(case: Case) -> SourceFile:
    """Return the only file of a case."""
    [file] = sources(case)
    return file


# The trees in ``tests/unit/specs/cases``: their problems, or their settings, as lines of text that tests compare.

SPEC_CASES = Path(__file__).parents[1] / "unit" / "specs" / "cases"


def problem_lines(tree: Path) -> list[str]:
    loaded = load(tree / "topics", tree, STACKS)
    return [str(problem) for problem in sorted({each for stack in STACKS for each in resolve(loaded, stack).problems})]


def setting_lines(tree: Path) -> Iterator[str]:
    """Yield ``stack topic setting = value at place``, in order."""
    loaded = load(tree / "topics", tree, STACKS)
    for stack in STACKS:
        for declaration in resolve(loaded, stack).declarations:
            locations = declaration.locations
            for path, value in sorted(locations.settings.items()):
                setting = " ".join(map(str, path))
                yield f"{stack} {declaration.topic.name} {setting} = {value!r} at {locations.at(path)}"
