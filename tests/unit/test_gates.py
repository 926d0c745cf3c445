"""Test the gates: the wording rules, and the packages of the architecture page."""

from __future__ import annotations

import ast
import dataclasses
import importlib.metadata
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import style
from tests.conftest import pytest_collect_directory

# The wording rules that a program can check: ``python -m tests.style`` lists the violations.

SAMPLE = '''"""What stands here is of the house."""

first_place = 1


def told(weight: int) -> str:
    # The consequence is foretold.
    return f"expected 1, seen {weight}"
'''


@pytest.mark.parametrize(
    "part",
    ["'first_place'", "'told'", "'weight'", "'stands'", "'foretold'", "'expected 1, seen '", "not with 'What'"],
)
def test_each_kind_of_violation_is_found(tmp_path: Path, part: str) -> None:
    file = tmp_path / "sample.py"
    file.write_text(SAMPLE, encoding="utf-8")
    assert any(part in problem for problem in style.problems(file))


def test_the_terms_of_the_twins_are_in_the_glossary() -> None:
    glossary = (style.PACKAGE.parents[1] / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[0].removeprefix("| ") for line in glossary.splitlines() if line.startswith("| ")]
    assert len(rows) <= 41
    assert len(set(rows)) == len(rows)
    for term in ("location", "severity", "allow", "permission", "predict", "offset range", "expected …, got …"):
        assert term in rows


def test_two_classes_with_one_name_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(style, "PACKAGE", tmp_path)
    files = [tmp_path / "first.py", tmp_path / "second.py"]
    for file in files:
        file.write_text("class Report:\n    pass\n", encoding="utf-8")
    assert style.duplicate_names(files) == ["the class Report has several meanings: first.py, second.py"]


def test_each_folder_with_a_fixture_of_its_package_is_a_package(request: pytest.FixtureRequest) -> None:
    """In another folder, pytest ends such a fixture, and its cluster, only with the session."""
    marked = re.compile(r'^@pytest\.fixture\(scope="package"', re.MULTILINE)
    files = [file for file in style.TESTS.rglob("*.py") if marked.search(file.read_text(encoding="utf-8"))]
    assert files
    assert {file.name for file in files} == {"conftest.py"}
    for file in files:
        assert isinstance(pytest_collect_directory(file.parent, request.session), pytest.Package)


# Test that the packages of the architecture page are those of import-linter, and that no string leads around them.

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "validation" / "topicwarden"
PAGE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
TOOLS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
ENTRY_POINTS = ["__main__"]
EXCEPTIONS = {
    ("toolchain/pulumi_cli.py", "deploy"),
    ("deploy/linked_environment.py", "cli"),
    ("operations/__init__.py", "extensions"),
}
"""Programs that a module of a lower layer writes and that start one of a higher layer, and the public API."""


def layers(container: str) -> list[list[str]]:
    """Return the layers of ``container``, the lowest first."""
    [found] = [each["layers"] for each in TOOLS["importlinter"]["contracts"] if each.get("containers") == [container]]
    return [layer.split(" | ") for layer in reversed(found)]


LAYERS = {package: layer for layer, packages in enumerate(layers("topicwarden"), 1) for package in packages}


def test_the_page_has_the_layer_of_each_package() -> None:
    rows = re.findall(r"^\| ([0-9]+) \| (`.+?`) \|", PAGE, re.MULTILINE)
    named = {package: int(layer) for layer, packages in rows for package in re.findall(r"`(\w+)(?:/|\.py)`", packages)}
    assert named == {package: layer for package, layer in LAYERS.items() if package not in ENTRY_POINTS}


def test_the_page_has_the_layers_of_the_audit() -> None:
    [text] = re.findall(r"its packages are layers as well: (.+?)\.\s", PAGE, re.DOTALL)
    named = [sorted(re.findall(r"`(\w+)/?`", layer)) for layer in text.split(">")]
    assert named == [sorted(layer) for layer in reversed(layers("topicwarden.audit"))]


_OUTSIDE_OF_IMPORTS = re.compile(r"^(?!\s*(?:from|import) ).*\btopicwarden\.\w", re.MULTILINE)
"""A line that names a package and is no import: to parse all other modules would take four seconds."""


def modules_in_strings(path: Path) -> Iterator[str]:
    """Yield the packages that code in the strings of a module names; documentation may name any package."""
    text = path.read_text(encoding="utf-8")
    if not _OUTSIDE_OF_IMPORTS.search(text):
        return
    tree = ast.parse(text)
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield from re.findall(r"\btopicwarden\.(\w+)", node.value)


def test_no_string_names_a_module_of_a_higher_layer() -> None:
    higher = {
        (str(path.relative_to(PACKAGE)), package)
        for path in PACKAGE.rglob("*.py")
        for package in modules_in_strings(path)
        if LAYERS.get(package, 0) > LAYERS.get(path.relative_to(PACKAGE).parts[0].removesuffix(".py"), len(LAYERS))
    }
    assert higher <= EXCEPTIONS


def unhashable(kind: Any) -> Iterator[str]:
    """Yield the types that no value of the type ``kind`` can have, if it is hashed."""
    origin = get_origin(kind) or kind
    if getattr(origin, "__hash__", None) is None or origin in (Sequence, Collection):
        yield str(kind)
    elif isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        for field in dataclasses.fields(kind):
            if field.hash if field.hash is not None else field.compare:
                yield from (f"{kind.__name__}.{field.name}: {found}" for found in unhashable(hints[field.name]))
    elif origin is not Callable:
        for part in get_args(kind):
            yield from unhashable(part)


def cached_functions() -> Iterator[Any]:
    for path in PACKAGE.rglob("*.py"):
        if re.search(r"^@(functools\.)?(lru_)?cache\b", path.read_text(encoding="utf-8"), re.MULTILINE):
            module = importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
            yield from (each for each in vars(module).values() if hasattr(each, "cache_parameters"))


def test_the_arguments_of_cached_functions_can_be_hashed() -> None:
    functions = {f"{each.__module__}.{each.__name__}": each for each in cached_functions()}
    assert "topicwarden.kafka.connect.connection.tls_context" in functions
    found = [
        f"{name}({parameter}): {problem}"
        for name, function in functions.items()
        for parameter, kind in get_type_hints(function.__wrapped__).items()
        if parameter != "return"
        for problem in unhashable(kind)
    ]
    assert found == []


def test_the_lock_names_the_extras_that_dependencies_require() -> None:
    # With hashes, pip takes a requirement such as coverage[toml]>=7 as not pinned if the lock only names coverage,
    # once a later release exists.
    required = {
        (canonicalize_name(needed.name), extra)
        for package in importlib.metadata.distributions()
        for needed in map(Requirement, package.requires or ())
        if needed.extras and (needed.marker is None or needed.marker.evaluate({"extra": ""}))
        for extra in needed.extras
    }
    lock = (REPOSITORY / "requirements.lock").read_text(encoding="utf-8")
    lines = re.findall(r"^([\w.-]+)(?:\[([\w,-]+)\])?==", lock, re.MULTILINE)
    locked = {(name, extra) for name, extras in lines for extra in extras.split(",")}
    assert required - locked == set()
    assert ("coverage", "toml") in locked
