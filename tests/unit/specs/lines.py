"""Render the problems, or the settings, of an example tree as lines of text that tests compare."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from topicwarden.specs.load import load
from topicwarden.specs.resolve import resolve

CASES = Path(__file__).parent / "cases"
STACKS = ("dev", "prod")


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
