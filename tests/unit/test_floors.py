"""Test that the rooms of the architecture page are those of import-linter, and that no string leads around them."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "validation" / "topicwarden"
PAGE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
TOOLS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
ENTRY_POINTS = ["__main__"]
EXCEPTIONS = {
    ("toolchain/pulumi_build.py", "deploy"),
    ("deploy/linked_environment.py", "cli"),
}
"""Programs that a module of a lower floor writes and that start one of a higher floor."""


def layers(container: str) -> list[list[str]]:
    """Return the layers of ``container``, the lowest first."""
    [found] = [each["layers"] for each in TOOLS["importlinter"]["contracts"] if each.get("containers") == [container]]
    return [layer.split(" | ") for layer in reversed(found)]


FLOORS = {room: floor for floor, rooms in enumerate(layers("topicwarden"), 1) for room in rooms}


def test_the_page_has_the_floor_of_each_room() -> None:
    rows = re.findall(r"^\| ([0-9]+) \| (`.+?`) \|", PAGE, re.MULTILINE)
    named = {room: int(floor) for floor, rooms in rows for room in re.findall(r"`(\w+)(?:/|\.py)`", rooms)}
    assert named == {room: floor for room, floor in FLOORS.items() if room not in ENTRY_POINTS}


def test_the_page_has_the_layers_of_the_audit() -> None:
    [text] = re.findall(r"the rooms are layers as well: (.+?)\.\s", PAGE, re.DOTALL)
    named = [sorted(re.findall(r"`(\w+)/?`", layer)) for layer in text.split(">")]
    assert named == [sorted(layer) for layer in reversed(layers("topicwarden.audit"))]


def modules_in_strings(path: Path) -> Iterator[str]:
    """Yield the rooms that code in the strings of a module names; documentation may name any room."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield from re.findall(r"\btopicwarden\.(\w+)", node.value)


def test_no_string_names_a_module_of_a_higher_floor() -> None:
    higher = {
        (str(path.relative_to(PACKAGE)), room)
        for path in PACKAGE.rglob("*.py")
        for room in modules_in_strings(path)
        if FLOORS.get(room, 0) > FLOORS.get(path.relative_to(PACKAGE).parts[0].removesuffix(".py"), len(FLOORS))
    }
    assert higher <= EXCEPTIONS
