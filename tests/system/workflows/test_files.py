"""The workflows are valid, and what a linter or an attacker would look for is not there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.system.workflows.runner import WORKFLOWS, load

BIN = Path(sys.executable).parent
ACTIONS = sorted((REPOSITORY / ".github" / "actions").glob("*/action.yml"))
FILES = sorted(WORKFLOWS.glob("*.yml"))
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"


def run(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", FILES),
        ("vendor.github-actions", ACTIONS),
        ("vendor.gitlab-ci", [REPOSITORY / ".gitlab-ci.yml"]),
    ],
    ids=["workflows", "actions", "gitlab"],
)
def test_they_meet_the_schema_of_their_kind(schema: str, files: list[Path]) -> None:
    run(BIN / "check-jsonschema", "--builtin-schema", schema, *files)


def test_zizmor_finds_nothing() -> None:
    run(BIN / "zizmor", "--offline", "--no-progress", "--strict-collection", ".github")


def test_actionlint_finds_nothing() -> None:
    if (found := shutil.which("actionlint")) is not None:
        run(found)
    elif (go := shutil.which("go")) is not None:
        run(go, "run", ACTIONLINT)
    else:
        pytest.skip("neither actionlint nor Go is here")


@pytest.mark.parametrize("file", [*FILES, *ACTIONS], ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_actions_of_others_are_pinned_to_a_commit(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    found = re.findall(r"uses: (.+)", text)
    assert len(found) == text.count("uses:")
    for used in found:
        assert used.startswith("./") or re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used), used


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_rights_and_secrets_are_given_where_they_are_needed_only(file: Path) -> None:
    workflow = load(file)
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert "permissions" in job
        assert "secrets." not in str(job.get("env"))
        for step in job.get("steps", []):
            assert "secrets." not in f"{step.get('run')}{step.get('with')}{step.get('if')}"
            # What runs Pulumi sources the variables, and what takes a secret is such a step.
            assert ("secrets." in str(step.get("env"))) <= ("source ci/stack.sh" in step.get("run", ""))
            assert step.get("with", {}).get("persist-credentials", False) is False
    checkouts = [step for step in steps(workflow) if "actions/checkout" in step.get("uses", "")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_two_runs_of_one_pull_request_or_stack_exclude_one_another() -> None:
    pull_request, deploy = load(WORKFLOWS / "pull-request.yml"), load(WORKFLOWS / "deploy.yml")
    assert pull_request["concurrency"]["group"] == "pull-request-${{ github.event.pull_request.number }}"
    assert "pull_request_target" not in pull_request[True]
    held = deploy["jobs"]["deploy"]["concurrency"]
    assert held == {"group": "deploy-${{ matrix.stack }}", "cancel-in-progress": False}
    for step in steps(deploy):
        if "actions/checkout" in step.get("uses", ""):
            assert step["with"]["ref"] == "${{ github.event.repository.default_branch }}"


def test_gitlabs_jobs_do_the_same_and_exclude_one_another() -> None:
    """The commands that matter are those of GitHub's workflows, to the letter."""
    gitlab = load(REPOSITORY / ".gitlab-ci.yml")
    lines = {name: "\n".join(gitlab[name]["script"]) for name in ("plan", "deploy", "audit")}
    for workflow, job, name in (("deploy", "deploy", "Deploy"), ("audit", "audit", "Audit")):
        (step,) = (
            step for step in load(WORKFLOWS / f"{workflow}.yml")["jobs"][job]["steps"] if step.get("name") == name
        )
        assert set(step["run"].splitlines()) <= set(lines[job].splitlines())
    assert gitlab["plan"]["resource_group"] == "merge-request-$CI_MERGE_REQUEST_IID-$STACK"
    assert gitlab["deploy"]["resource_group"] == "deploy-$STACK"
    assert gitlab["deploy"]["interruptible"] is False


def test_gitlabs_shell_lines_parse() -> None:
    gitlab = load(REPOSITORY / ".gitlab-ci.yml")
    scripts = [
        lines
        for job in gitlab.values()
        for part in ("before_script", "script", "after_script")
        for lines in (job.get(part, []) if isinstance(job, dict) else [])
    ]
    assert scripts
    for lines in scripts:
        run("bash", "-n", "-c", lines)


def steps(workflow: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job.get("steps", [])
