"""Test how much a base install, which is enough for `topicwarden check`, puts on the disk, and that pip resolves it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.support.command import project
from tests.support.installations import base_install, resolution
from tests.support.projects import Shell

LIMIT_MB = 110
PAGE = (REPOSITORY / "docs" / "scaling.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("base") / "environment"


@pytest.fixture(scope="module")
def sizes(wheel: Path, environment: Path) -> dict[str, int]:
    return base_install(wheel, Path(sys.executable), environment)


def test_a_base_install_has_at_most_110_mb(sizes: dict[str, int]) -> None:
    largest = sorted(sizes.items(), key=lambda size: -size[1])[:10]
    assert sum(sizes.values()) / 1_000_000 <= LIMIT_MB, largest


def test_every_large_package_is_on_the_page_with_its_reason(sizes: dict[str, int]) -> None:
    section = re.search(r"^## Size of a base install\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    large = {name for name, size in sizes.items() if size > 1_000_000}
    assert [name for name in sorted(large) if f"`{name}`" not in section[1]] == []


def test_a_base_install_checks_every_format_of_schemas(
    sizes: dict[str, int], environment: Path, tmp_path: Path
) -> None:
    schemas = {
        "a.proto": 'syntax = "proto3"; import "google/protobuf/any.proto";\nmessage A { google.protobuf.Any a = 1; }',
        "b.proto": 'syntax = "proto3";\nmessage B { strin b = 1; }\n',
        "c.json": '{"type": "object", "properties": {"c": {"pattern": "^c$"}}}\n',
        "d.avsc": '{"type": "record", "name": "D", "fields": []}\n',
    }
    formats = {".proto": "protobuf", ".json": "json", ".avsc": "avro"}
    files = {f"topics/{name}": text for name, text in schemas.items()}
    for name in schemas:
        value = f"{{format: {formats[Path(name).suffix]}, schema: {name}}}"
        files[f"topics/{name[0]}.yaml"] = f"partitions: 1\nreplication_factor: 1\ncontents:\n  value: {value}\n"
    project(tmp_path, files)
    done = Shell(tmp_path, {"PYTHONPATH": ""}).run(environment / "bin" / "topicwarden", "check")
    assert "4 topics: 1 error, 0 warnings" in done.stderr, done.stdout + done.stderr
    assert 'b.proto is not a valid .proto file: 2:13: "strin" is not defined.' in done.stdout


@pytest.mark.nightly("The result changes only with the dependencies, which are locked.")
def test_pip_resolves_a_base_install_without_backtracking(wheel: Path) -> None:
    printed = resolution(wheel)
    assert "Would install" in printed
    assert "multiple versions" not in printed
    assert "take a while" not in printed
