"""Test the workflows and commands of the page about CI: linters accept them, and all inputs and arguments exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import REPOSITORY
from tests.support import documents
from tests.system.workflows.linters import BIN, actionlint, run
from tests.system.workflows.runner import (
    ACTION,
    BLOCKS,
    COMPONENT,
    PAGE,
    PAGE_WORKFLOWS,
    PUBLISHED,
    component_jobs,
    load,
)

GITLAB = [text for text in BLOCKS if "jobs:" not in text]
IMAGE = re.compile(r"ghcr\.io/topicwarden/topicwarden:(\S+) (.*)")


def our_steps() -> Iterator[tuple[Mapping[str, Any], Mapping[str, str]]]:
    """Yield each job that uses the Action, with the inputs."""
    for text in PAGE_WORKFLOWS:
        for job in yaml.safe_load(text)["jobs"].values():
            yield from ((job, step["with"]) for step in job["steps"] if step["uses"] == PUBLISHED)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository that has the workflows of the page. The Action is pinned, as the page recommends."""
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    for number, text in enumerate(PAGE_WORKFLOWS):
        pinned = text.replace(PUBLISHED, f"topicwarden/topicwarden@{'0' * 40} # v1.0.0")
        (folder / f"{number}.yml").write_text(pinned, encoding="utf-8")
    run("git", "init", "--quiet", folder=tmp_path)
    return tmp_path


def test_linters_find_nothing_in_the_workflows(project: Path) -> None:
    files = sorted((project / ".github" / "workflows").iterdir())
    assert len(files) == 3
    run(BIN / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *files)
    run(BIN / "zizmor", "--offline", "--no-progress", "--strict-collection", ".", folder=project)
    run(*actionlint(), folder=project)


def test_the_first_workflow_has_few_lines_besides_the_checkout() -> None:
    assert len(PAGE_WORKFLOWS[0].splitlines()) <= 20


def test_every_input_of_the_action_exists_and_makes_a_valid_command() -> None:
    known = load(ACTION)["inputs"]
    commands = []
    for _, inputs in our_steps():
        assert inputs.keys() <= known.keys()
        stack = ["--stack", inputs["stack"]] if "stack" in inputs else []
        more = shlex.split(inputs.get("extra-arguments", ""))
        assert documents.problem(["ci", "run", inputs["command"], *stack]) is None
        assert documents.problem([inputs["command"], *stack, *more]) is None
        commands.append(inputs["command"])
    assert commands == ["check", "plan", "up", "rebalance", "audit"]


def test_the_table_has_all_inputs_with_their_defaults() -> None:
    table = PAGE.partition("### Inputs")[2].partition("## GitLab")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    names = [name for cells, _ in rows for name in re.findall(r"`([\w-]+)`", cells)]
    inputs = load(ACTION)["inputs"]
    assert sorted(names) == sorted(inputs)
    defaults = " ".join(default for _, default in rows)
    shown = {name: each["default"] for name, each in inputs.items() if each.get("default")}
    assert {name: value for name, value in shown.items() if value not in defaults} == {}


def test_the_jobs_have_only_the_permissions_on_the_page() -> None:
    for job, inputs in our_steps():
        expected = {
            "contents": "read",
            **({"pull-requests": "write"} if inputs["command"] in ("check", "plan") else {}),
            **({"id-token": "write"} if "aws-role-arn" in inputs else {}),
            **({"security-events": "write"} if inputs["command"] == "audit" else {}),
        }
        assert job["permissions"] == expected
        assert job["environment"] == ("prod" if inputs["command"] in ("up", "rebalance") else "prod-read")


def test_gitlab_includes_the_component_with_inputs_that_exist(tmp_path: Path) -> None:
    includes = [each for text in GITLAB for each in yaml.safe_load(text).get("include", [])]
    assert len(includes) == 2
    for include in includes:
        jobs = component_jobs(include["inputs"])
        assert all(f"`{name}`" in PAGE for name in jobs if not name.startswith("."))
        path = include.get("remote") or f"/v1/templates/{include['component'].partition('@')[0].rpartition('/')[2]}.yml"
        assert path.endswith(f"/v1/{COMPONENT.relative_to(REPOSITORY).as_posix()}")
    for number, text in enumerate(GITLAB):
        (tmp_path / f"{number}.yml").write_text(text, encoding="utf-8")
    run(BIN / "check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", *tmp_path.iterdir())


def test_the_commands_for_the_image_are_valid() -> None:
    version = re.search(r'^version = "(.+)"$', (REPOSITORY / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert version
    found = IMAGE.findall(PAGE.replace("`", " "))
    commands = [shlex.split(arguments) for tag, arguments in found if tag == version[1] and arguments.startswith("ci ")]
    assert [command[2] for command in commands] == ["check", "plan", "up", "rebalance", "audit"]
    assert [(command, problem) for command in commands if (problem := documents.problem(command))] == []
    assert {tag for tag, _ in found} == {version[1]}
    (block,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    run("bash", "-n", "-c", block)


def test_the_path_of_the_application_is_that_of_the_image() -> None:
    path = re.search(r"`local://(/\S+)`", PAGE)
    assert path
    assert f" {path[1]}\n" in (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
