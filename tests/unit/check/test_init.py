"""Test what `topicwarden init` writes. tests/system/install deploys and audits it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.support.command import HERE, topicwarden
from topicwarden.cli.init import CI, TEMPLATE
from topicwarden.specs.yaml_nodes import read_documents

REPOSITORY = HERE.parents[2]
SAME = ("policies/__main__.py", "policies/PulumiPolicy.yaml", "stacks/__main__.py", ".vscode/extensions.json")


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file() and not {".venv", ".cache"} & {*path.parts}
    }


@pytest.mark.parametrize("ci", [None, *CI])
def test_a_new_project_passes_its_check(tmp_path: Path, ci: str | None) -> None:
    done = topicwarden("init", "my topics", *(["--ci", ci] if ci else []), cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    checked = topicwarden("check", cwd=tmp_path / "my topics")
    assert (checked.code, checked.out, checked.err) == (0, "", "2 topics: 0 errors, 0 warnings\n")
    written = files(tmp_path / "my topics")
    assert {line.removeprefix("wrote my topics/") for line in done.out.splitlines() if "wrote" in line} == {
        *written,
        ".venv: a virtual environment with this installation of topicwarden",
    }
    for each, parts in CI.items():
        expected = {name for name in files(TEMPLATE) if name.startswith(parts)}
        assert expected <= written.keys() if each == ci else not expected & written.keys()


def test_the_project_has_the_name_of_its_folder_and_the_version_that_wrote_it(tmp_path: Path) -> None:
    folder = tmp_path / "Überfällige Themen!"
    topicwarden("init", folder, cwd=tmp_path)
    settings = yaml.safe_load((folder / "Pulumi.yaml").read_text(encoding="utf-8"))
    assert settings["name"] == "berf-llige-Themen"
    version = topicwarden("--version", cwd=tmp_path).out.strip()
    wheel = f"topicwarden-{version}-py3-none-any.whl"
    assert (folder / "requirements.txt").read_text().splitlines()[
        -1
    ] == f"topicwarden @ https://fill-in.invalid/{wheel}"


@pytest.mark.parametrize(("ci", "file"), [("github", "requirements.txt"), ("gitlab", ".gitlab-ci.yml")])
def test_the_files_for_ci_say_what_to_fill_in_until_there_is_a_release(tmp_path: Path, ci: str, file: str) -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    done = topicwarden("init", "--ci", ci, cwd=tmp_path)
    line = f"topicwarden is not released yet: replace fill-in.invalid in {file} by the address of "
    assert (line in done.out) is not settings["tool"]["topicwarden"]["released"]
    (tmp_path / file).write_text((tmp_path / file).read_text().replace("fill-in.invalid", "packages.example.com"))
    again = topicwarden("init", "--ci", ci, cwd=tmp_path)
    assert "not released yet" not in again.out


def test_this_repository_has_the_same_files(tmp_path: Path) -> None:
    topicwarden("init", "topicwarden", cwd=tmp_path)
    written = tmp_path / "topicwarden"
    assert [name for name in SAME if (written / name).read_bytes() != (REPOSITORY / name).read_bytes()] == []
    assert (written / "Pulumi.yaml").read_bytes() == (REPOSITORY / "Pulumi.yaml").read_bytes()
    stack = "stacks/Pulumi.dev.yaml"
    assert yaml.safe_load((written / stack).read_bytes()) == yaml.safe_load((REPOSITORY / stack).read_bytes())


def test_the_examples_are_valid_for_the_editor_schemas(tmp_path: Path) -> None:
    topicwarden("init", cwd=tmp_path)
    mapped = json.loads((tmp_path / ".vscode/settings.json").read_text())["yaml.schemas"]
    assert len(mapped) == 5
    for schema, patterns in mapped.items():
        validator = Draft202012Validator(json.loads((tmp_path / schema).read_text(encoding="utf-8")))
        found = [path for path in tmp_path.glob(patterns[0]) if path.name != "PulumiPolicy.yaml"]
        assert found or patterns[0].startswith(("access/", "subjects/"))  # which an import writes
        for path in found:
            first = path.read_text(encoding="utf-8").splitlines()[0]
            assert (path.parent / first.partition("$schema=")[2]).resolve() == (tmp_path / schema).resolve()
            documents, _ = read_documents(path.read_bytes(), path.name)
            errors = [error.message for document in documents for error in validator.iter_errors(document.value)]
            assert errors == []


def test_the_example_of_another_stack_passes_the_check(tmp_path: Path) -> None:
    topicwarden("init", cwd=tmp_path)
    example = tmp_path / "stacks" / "Pulumi.prod.yaml.example"
    example.rename(example.with_suffix(""))
    done = topicwarden("check", "--stack", "prod", cwd=tmp_path)
    assert (done.code, done.out) == (0, "")


def test_nothing_is_overwritten_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    own = {".gitignore": "/target/\n", "stacks/Pulumi.dev.yaml": "config: {}\n"}
    for name, text in own.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    done = topicwarden("init", cwd=tmp_path)
    kept = [line for line in done.out.splitlines() if line.startswith("kept")]
    template = TEMPLATE / "project"
    assert kept == [f"kept  {name}: it exists; compare it with {template / name}" for name in own]
    assert {name: (tmp_path / name).read_text() for name in own} == own
    before = files(tmp_path)
    again = topicwarden("init", cwd=tmp_path)
    assert [line for line in again.out.splitlines() if line.startswith(("wrote", "kept"))] == kept
    assert files(tmp_path) == before


def test_topics_of_your_own_get_no_examples_beside_them(tmp_path: Path) -> None:
    own = {
        "topics/payments.v1.yaml": "{partitions: 3, replication_factor: 3, owner: team}\n",
        "policies/house.yaml": "rules: {owner: {level: error}}\n",
    }
    for name, text in own.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    topicwarden("init", cwd=tmp_path)
    yaml_files = {name for name in files(tmp_path) if name.startswith(("topics/", "policies/"))}
    assert yaml_files == {*own, "policies/PulumiPolicy.yaml", "policies/__main__.py"}
    assert topicwarden("check", cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ci", "jenkins"], "there are no files for --ci jenkins: expected one of github, gitlab"),
        (["file"], "file is a file: expected a folder, which may be new"),
    ],
)
def test_an_invalid_argument_writes_nothing(tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "file").touch()
    done = topicwarden("init", *arguments, cwd=tmp_path)
    assert (done.code, message in done.err, done.err.count("\n")) == (2, True, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "text",
    [
        "name: infra\nruntime: nodejs\n",
        "name: infra\nruntime: {name: python}\n",  # its program is __main__.py, its settings are Pulumi.dev.yaml
        "name: infra\nruntime: python\nmain: stacks/\nconfig: {aws:region: eu-west-1}\n",
    ],
)
def test_the_folder_of_another_pulumi_program_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "Pulumi.yaml").write_text(text)
    done = topicwarden("init", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "Pulumi.yaml is of another Pulumi program" in done.err
    assert "`topicwarden init kafka-topics`" in done.err
    assert files(tmp_path) == {"Pulumi.yaml": text}
    assert topicwarden("init", "kafka-topics", cwd=tmp_path).code == 0


def test_a_file_in_place_of_the_environment_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".venv").write_text("not a folder")
    done = topicwarden("init", ".", cwd=tmp_path)
    assert (done.code, ".venv is a file: expected a virtual environment" in done.err) == (2, True)
    assert (tmp_path / ".venv").read_text() == "not a folder"
