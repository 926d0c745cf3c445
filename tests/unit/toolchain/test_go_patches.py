"""Test which changes of Go modules a build contains, with a stand-in for ``go mod download``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from topicwarden.toolchain.go_patches import options

SLOW = "package slow\n\nfunc init() {\n\tload()\n}\n"
PATCHES = {"example.org/slow": {"slow.go": [["func init() {\n\tload()\n}\n", ""]]}}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the module of a program; Go has downloaded one module that it requires, which nobody may write to."""
    module, downloaded = tmp_path / "module", tmp_path / "downloaded"
    module.mkdir()
    (module / "go.mod").write_text("module program\n")
    (module / "go.sum").write_text("sums\n")
    downloaded.mkdir()
    (downloaded / "slow.go").write_text(SLOW)
    (downloaded / "other.go").write_text("package slow\n")
    downloaded.chmod(0o555)
    found = [{"Path": "example.org/slow", "Dir": str(downloaded)}, {"Path": "example.org/none", "Error": "not found"}]
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text("#!/bin/sh\ncat <<END\n" + "\n".join(json.dumps(each, indent=1) for each in found) + "\nEND\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(go.parent), prepend=":")
    return module


def build_of(module: Path, patches: object, folder: Path) -> str:
    """Return the ``go.mod`` of the build of ``module``."""
    (module / "patches.json").write_text(json.dumps(patches))
    folder.mkdir()
    (option,) = options(module, folder)
    file = Path(option.removeprefix("-modfile="))
    assert file.with_suffix(".sum").read_text() == "sums\n"
    return file.read_text()


def test_the_build_contains_the_changed_copy_of_a_module(module: Path, tmp_path: Path) -> None:
    text = build_of(module, PATCHES, tmp_path / "build")
    copy = Path(text.partition("replace example.org/slow => ")[2].strip())
    assert text.startswith("module program\n")
    assert {file.name: file.read_text() for file in copy.iterdir()} == {
        "slow.go": "package slow\n\n",
        "other.go": "package slow\n",
        "go.mod": "module example.org/slow\n",
    }


@pytest.mark.parametrize(
    "patches",
    [
        {"example.org/slow": {"slow.go": [["func start() {", ""]]}},
        {"example.org/slow": {"slow.go": [["slow", "fast"], ["}", ""]], "other.go": [["slow", "fast"], ["no", ""]]}},
        {"example.org/slow": {"gone.go": [["slow", "fast"]]}},
    ],
    ids=["another text", "one of the texts is missing", "another file"],
)
def test_a_module_that_has_changed_is_built_as_it_is(module: Path, tmp_path: Path, patches: object) -> None:
    assert build_of(module, patches, tmp_path / "build") == "module program\n"


def test_a_module_without_patches_needs_no_other_file(module: Path, tmp_path: Path) -> None:
    assert options(module, tmp_path) == []


def test_a_module_that_go_does_not_have_is_left_to_the_build(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    (module / "patches.json").write_text(json.dumps(PATCHES))
    assert options(module, tmp_path) == []
