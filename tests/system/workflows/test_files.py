"""Test that workflows are valid and need few permissions: of the repository, the template, and the page about CI."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import REPOSITORY
from tests.support import documents
from tests.system.workflows.runner import (
    ACTION,
    BIN,
    BLOCKS,
    COMPONENT,
    PAGE,
    PAGE_WORKFLOWS,
    PUBLISHED,
    TEMPLATE,
    WORKFLOWS,
    Runner,
    actionlint,
    component_jobs,
    load,
    run,
)

# Test that this repository's workflows and the users' template workflows are valid and grant only necessary
# permissions.

ROOTS = {"repository": REPOSITORY, "template": TEMPLATE}
OWN = REPOSITORY / ".github" / "workflows"
FILES = [file for root in ROOTS.values() for file in sorted(root.glob(".github/workflows/*.yml"))]
ACTIONS = [ACTION, *sorted(REPOSITORY.glob(".github/actions/*/action.yml"))]
OUR_ACTION = "./.github/actions/topicwarden"
SECRET_INPUTS = {"pulumi-access-token", "pulumi-config-passphrase"}


def name(file: Path) -> str:
    return f"{'template' if file.is_relative_to(TEMPLATE) else 'own'}-{file.parent.name}-{file.stem}"


each_workflow = pytest.mark.parametrize("file", FILES, ids=name)
each_file = pytest.mark.parametrize("file", [*FILES, *ACTIONS], ids=name)


@pytest.fixture(params=ROOTS)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A Git repository with the files of one root in their places. Linters look for `.git` and `.github`."""
    for part in (".github", ".gitlab-ci.yml", "action.yml"):
        source = ROOTS[request.param] / part
        if source.is_dir():
            shutil.copytree(source, tmp_path / part)
        elif source.is_file():
            shutil.copy(source, tmp_path)
    run("git", "init", "--quiet", folder=tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", FILES),
        ("vendor.github-actions", ACTIONS),
        ("vendor.gitlab-ci", [TEMPLATE / ".gitlab-ci.yml"]),
        ("vendor.dependabot", [REPOSITORY / ".github" / "dependabot.yml"]),
    ],
    ids=["workflows", "actions", "gitlab", "dependabot"],
)
def test_files_meet_their_schema(schema: str, files: list[Path]) -> None:
    run(BIN / "check-jsonschema", "--builtin-schema", schema, *files)


def test_the_jobs_of_the_component_meet_the_schema(tmp_path: Path) -> None:
    jobs = {"stages": ["test", "deploy"], **component_jobs({"stack": "dev"})}
    (tmp_path / "jobs.yml").write_text(yaml.safe_dump(jobs))
    run(BIN / "check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", tmp_path / "jobs.yml")


def test_zizmor_finds_nothing(project: Path) -> None:
    run(BIN / "zizmor", "--offline", "--no-progress", "--strict-collection", ".", folder=project)


def test_actionlint_finds_nothing(project: Path) -> None:
    run(*actionlint(), folder=project)


@each_file
def test_third_party_actions_are_pinned_to_a_commit(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    found = re.findall(r"uses: (.+)", text)
    assert len(found) == text.count("uses:")
    for used in found:
        assert used.startswith("./") or re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used), used


def test_an_action_has_the_same_version_everywhere() -> None:
    used = {use for file in (*FILES, *ACTIONS) for use in re.findall(r"uses: ([\w/-]+@.+)", file.read_text("utf-8"))}
    names = sorted(use.partition("@")[0] for use in used)
    assert names == sorted(set(names))


@each_workflow
def test_permissions_and_secrets_are_limited_to_the_steps_that_need_them(file: Path) -> None:
    workflow = load(file)
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert "permissions" in job
        assert "secrets." not in str(job.get("env"))
        for step in job.get("steps", []):
            assert "secrets." not in f"{step.get('run')}{step.get('env')}{step.get('if')}"
            given = {name for name, value in step.get("with", {}).items() if "secrets." in str(value)}
            assert given <= (SECRET_INPUTS if step.get("uses") == OUR_ACTION else set())
            assert step.get("with", {}).get("persist-credentials", False) is False
    checkouts = [step for step in steps(workflow) if "actions/checkout" in step.get("uses", "")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@each_workflow
def test_a_job_that_uploads_sarif_may_do_so_in_a_private_repository(file: Path) -> None:
    """There, the upload asks for the run of the workflow. A caller needs the permissions of the workflow it calls."""
    jobs = [job["permissions"] for job in load(file)["jobs"].values() if "security-events" in job["permissions"]]
    assert [permissions for permissions in jobs if permissions.get("actions") != "read"] == []


@each_workflow
def test_every_job_has_a_time_limit(file: Path) -> None:
    jobs = load(file)["jobs"].values()
    assert [job["name"] for job in jobs if "uses" not in job and "timeout-minutes" not in job] == []


def test_runs_of_one_pull_request_or_stack_never_overlap() -> None:
    pull_request, deploy = load(WORKFLOWS / "pull-request.yml"), load(WORKFLOWS / "deploy.yml")
    assert pull_request["concurrency"]["group"] == "pull-request-${{ github.event.pull_request.number }}"
    assert "pull_request_target" not in pull_request[True]
    concurrency = deploy["jobs"]["deploy"]["concurrency"]
    assert concurrency == {"group": "deploy-${{ matrix.stack }}", "cancel-in-progress": False}
    for step in steps(deploy):
        if "actions/checkout" in step.get("uses", ""):
            assert step["with"]["ref"] == "${{ github.event.repository.default_branch }}"


def test_the_template_runs_in_repositories_with_each_usual_name_of_the_default_branch() -> None:
    pull_request, deploy = load(WORKFLOWS / "pull-request.yml"), load(WORKFLOWS / "deploy.yml")
    for branches in (pull_request[True]["pull_request"]["branches"], deploy[True]["push"]["branches"]):
        assert branches == ["main", "master"]
    # Of the two, only the default branch is deployed.
    assert deploy["jobs"]["stacks"]["if"] == "github.ref_name == github.event.repository.default_branch"


def test_only_the_step_that_runs_the_command_gets_secrets_and_no_script_contains_an_input() -> None:
    action = load(ACTION)
    secret = {f"${{{{ inputs.{name} }}}}" for name in SECRET_INPUTS}
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        found = {value for value in step.get("env", {}).values() if value in secret}
        assert found == (secret if step.get("id") == "run" else set())
        assert not secret & {*map(str, step.get("with", {}).values())}
        assert ("steps.role.outputs" in str(step)) == (step.get("id") == "run")
        assert ("github.token" in str(step)) == (step.get("name") == "Create or update the comment")


def test_the_history_is_kept_if_an_audit_has_findings() -> None:
    """The step that audits fails then, and by default a failed job saves no cache."""
    caches = {step["uses"].partition("@")[0]: step for step in _steps_that_use("actions/cache")}
    assert caches.keys() == {"actions/cache/restore", "actions/cache/save"}
    restore, save = caches["actions/cache/restore"], caches["actions/cache/save"]
    assert "!cancelled()" in save["if"]
    assert save["with"]["path"] == restore["with"]["path"]
    assert save["with"]["key"] == f"${{{{ steps.{restore['id']}.outputs.cache-primary-key }}}}"
    assert [cache["when"] for cache in component_jobs({"stack": "dev"})["audit dev"]["cache"]] == ["always"]


def test_no_audit_restores_the_history_of_another_stack() -> None:
    (restore,) = _steps_that_use("actions/cache/restore")
    keys = {name: restore["with"][name].replace("${{ inputs.stack }}", "prod") for name in ("key", "restore-keys")}
    assert keys["key"].startswith(keys["restore-keys"])
    assert not keys["key"].replace("prod", "prod-eu").startswith(keys["restore-keys"])


def _steps_that_use(name: str) -> list[dict[str, Any]]:
    """Return the steps of the Action that use the action ``name``, or an action of its folder."""
    return [step for step in load(ACTION)["runs"]["steps"] if step.get("uses", "").startswith(name)]


def test_only_the_command_gets_the_credentials_of_the_aws_role(tmp_path: Path) -> None:
    """By default, the action of AWS exports them to all later steps of the job, such as those of another command."""
    (assume,) = _steps_that_use("aws-actions/configure-aws-credentials")
    assert (assume["with"]["output-credentials"], assume["with"]["output-env-credentials"]) == (True, False)
    outputs = {
        f"steps.{assume['id']}.outputs.aws-{name}": name
        for name in ("access-key-id", "secret-access-key", "session-token")
    }
    own = {
        "AWS_ACCESS_KEY_ID": "own",
        "AWS_SECRET_ACCESS_KEY": "own",
        "AWS_SESSION_TOKEN": "own",
        "AWS_REGION": "own",
        "AWS_DEFAULT_REGION": "own",
    }
    assert _environment_of_the_command(tmp_path / "without", {}, own) == own
    assert _environment_of_the_command(tmp_path / "with", outputs, own) == {
        "AWS_ACCESS_KEY_ID": "access-key-id",
        "AWS_SECRET_ACCESS_KEY": "secret-access-key",
        "AWS_SESSION_TOKEN": "session-token",
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
    }


def _environment_of_the_command(folder: Path, outputs: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of AWS that the Action gives to topicwarden, in a job that has ``own`` ones."""
    program = folder / "runner temp" / "topicwarden" / "bin" / "topicwarden"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nenv | grep -E '^(AWS_(ACC|SEC|SES|REG|DEF)|ROLE_)' > environment\n")
    program.chmod(0o755)
    (step,) = (each for each in load(ACTION)["runs"]["steps"] if each.get("id") == "run")
    inputs = {f"inputs.{name}": str(each.get("default", "")) for name, each in load(ACTION)["inputs"].items()}
    clone = folder / "clone"
    clone.mkdir()
    context = {**inputs, **outputs, "inputs.aws-region": "eu-central-1"}
    runner = Runner(clone, context, own, folder / "programs", lambda _: None)
    assert runner.steps([step])[step["name"]].code == 0
    lines = (clone / "environment").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.parametrize(
    ("command", "extras"),
    [
        ("check", set()),
        ("plan", {"deploy", "audit", "aws"}),  # with a new schema, they read the records of its topic
        ("up", {"deploy", "audit", "aws"}),
        ("rebalance", {"deploy", "aws"}),
        ("audit", {"deploy", "audit", "aws"}),
    ],
)
def test_the_action_installs_the_extras_that_its_command_needs(tmp_path: Path, command: str, extras: set[str]) -> None:
    folder = tmp_path / "clone"
    folder.mkdir()
    ran = Runner(folder, {}, {}, tmp_path / "programs", lambda _: None)
    ran.temporary.mkdir()
    (step,) = (each for each in load(ACTION)["runs"]["steps"] if each.get("name") == "Install topicwarden")
    variables = {"COMMAND": command, "VERSION": "0.1.0", "RUNNER_TEMP": str(ran.temporary)}
    log = ran.bash(["-eo", "pipefail"], step["run"], variables, folder).log
    installed = re.fullmatch(r"pip install --quiet topicwarden(?:\[(.+)\])?==0\.1\.0\n", log)
    assert installed, log
    assert set((installed[1] or "").split(",")) - {""} == extras


def test_no_file_for_ci_installs_topicwarden_from_an_index_before_there_is_a_release() -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    version, released = settings["project"]["version"], settings["tool"]["topicwarden"]["released"]
    requirements = (TEMPLATE / "project" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert requirements[-1].startswith("topicwarden @ https://fill-in.invalid/") is not released
    assert ("fill-in\\.invalid" in ACTION.read_text(encoding="utf-8")) is not released
    include = yaml.safe_load((TEMPLATE / ".gitlab-ci.yml").read_text(encoding="utf-8"))["include"]
    given = include[0]["inputs"].get("image")
    assert given == (None if released else f"fill-in.invalid/topicwarden:{version}")
    assert component_jobs({"stack": "dev"})["plan dev"]["image"]["name"].endswith(f"/topicwarden:{version}")


def test_gitlab_jobs_never_overlap_and_forks_get_no_deploy() -> None:
    jobs = component_jobs({"stack": "prod"})
    assert jobs["plan prod"]["resource_group"] == "merge-request-$CI_MERGE_REQUEST_IID-prod"
    assert jobs["plan prod"]["rules"] == [{"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'}]
    assert jobs["deploy prod"]["resource_group"] == "deploy-prod"
    assert jobs["deploy prod"]["interruptible"] is False
    assert "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH" in str(jobs["deploy prod"]["rules"])


def test_a_scheduled_pipeline_of_gitlab_only_audits() -> None:
    jobs = component_jobs({"stack": "prod"})
    conditions = {name: job["rules"][0]["if"] for name, job in jobs.items() if "stage" in job}
    excluded = {name for name, condition in conditions.items() if '$CI_PIPELINE_SOURCE != "schedule"' in condition}
    assert excluded == {"check prod", "deploy prod"}
    assert conditions.keys() - excluded == {"plan prod", "audit prod"}
    assert conditions["plan prod"] == '$CI_PIPELINE_SOURCE == "merge_request_event"'


def test_gitlab_jobs_of_two_stacks_have_different_names_and_call_no_input_in_a_script() -> None:
    assert not component_jobs({"stack": "dev"}).keys() & component_jobs({"stack": "prod"}).keys()
    marked = component_jobs({"stack": "x", "working-directory": "\0", "audit-arguments": "\0", "fail-on": "\0"})
    for job in marked.values():
        for lines in (job.get("before_script", []), job.get("script", [])):
            assert "\0" not in "".join(lines)
            run("bash", "-n", "-c", "\n".join(lines))


@pytest.mark.parametrize(
    "own", [{}, {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "kept"}]
)
def test_gitlab_jobs_trust_a_clone_that_belongs_to_the_user_of_the_helper(tmp_path: Path, own: dict[str, str]) -> None:
    """So does the git that `topicwarden check --base` starts. Settings of the project in the same variables stay."""
    run("git", "init", "--quiet", folder=tmp_path)
    lines = "\n".join(
        [*component_jobs({"stack": "dev"})["check dev"]["before_script"], "git status", "git config a.b || true"]
    )
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", lines],
        cwd=tmp_path,
        env={**os.environ, "FOLDER": ".", "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1", **own},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("kept\n") is bool(own)


def test_shellcheck_finds_nothing_in_the_action_and_the_component(tmp_path: Path) -> None:
    scripts = [step["run"] for step in load(ACTION)["runs"]["steps"] if "run" in step]
    scripts += [
        "\n".join(job["before_script"] + job.get("script", [])) for job in component_jobs({"stack": "a"}).values()
    ]
    for number, text in enumerate(scripts):
        (tmp_path / f"{number}.sh").write_text(f"set -eo pipefail\n{text}")
    run(BIN / "shellcheck", "--shell", "bash", *tmp_path.iterdir())


def test_the_template_for_gitlab_includes_the_component() -> None:
    (include,) = load(TEMPLATE / ".gitlab-ci.yml")["include"]
    assert (TEMPLATE / include["local"]).samefile(COMPONENT)
    component_jobs(include["inputs"])


def test_a_release_publishes_only_a_tagged_version_of_main(tmp_path: Path) -> None:
    """The shell lines of the release run on a repository in which `main` has this repository's pyproject.toml."""
    jobs = load(OWN / "release.yml")["jobs"]
    (lines,) = (step["run"] for step in jobs["build"]["steps"] if "version" in step.get("name", ""))
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    version = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["commit", "-qm", "a"],
        ["update-ref", "refs/remotes/origin/main", "@"],
    ):
        run(*git, *command, folder=tmp_path)
    run(*git, "commit", "-qm", "not on main", "--allow-empty", folder=tmp_path)
    for tag, commit, code in ((f"v{version}", "@~", 0), (f"v{version}0", "@~", 1), (f"v{version}", "@", 1)):
        variables = {**os.environ, "PATH": path, "GITHUB_REF_NAME": tag, "GITHUB_SHA": commit}
        bash = ["bash", "-eo", "pipefail", "-c", lines]
        done = subprocess.run(bash, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.count("::error::")) == (code, code)


def test_only_the_publishing_job_has_write_permission() -> None:
    jobs = load(OWN / "release.yml")["jobs"]
    permissions = {
        name: {right for right, level in job["permissions"].items() if level == "write"} for name, job in jobs.items()
    }
    assert permissions == {
        "build": {"id-token", "attestations"},
        "image": {"packages"},
        "index": {"packages", "id-token", "attestations"},
        "pypi": {"id-token"},
        "tag": {"contents"},
    }
    assert jobs["pypi"]["environment"] == "pypi"
    assert "cache" not in str(jobs)


def test_ci_tests_every_supported_version_of_python_and_java() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    supported = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    jobs = load(OWN / "ci.yml")["jobs"]
    assert jobs["fast"]["strategy"]["matrix"] == {"python": supported}
    assert jobs["test"]["strategy"]["matrix"] == {"python": supported, "java": ["17", "21", "25"]}
    wheel = jobs["wheel"]["strategy"]["matrix"]["include"]
    assert [pair["python"] for pair in wheel] == supported
    assert [pair["java"] for pair in wheel] == jobs["test"]["strategy"]["matrix"]["java"]
    assert supported[0] == project["requires-python"].removeprefix(">=")


def test_own_workflows_run_all_gates_tests_and_campaigns() -> None:
    """The workflows use only targets of the Makefile."""
    commands = (str(step.get("run", "")) for file in ("ci.yml", "campaigns.yml") for step in steps(load(OWN / file)))
    targets = set(re.findall(r"^make ([\w-]+)", "\n".join(commands), re.MULTILINE))
    assert targets >= {"check", "test-fast", "test", "wheel", "campaigns"}
    assert targets <= set(re.findall(r"^([\w-]+):", (REPOSITORY / "Makefile").read_text("utf-8"), re.MULTILINE))


def steps(workflow: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job.get("steps", [])


# The workflows and commands of the page about CI: linters accept them, and all inputs and arguments exist.

GITLAB = [text for text in BLOCKS if "jobs:" not in text]
IMAGE = re.compile(r"ghcr\.io/topicwarden/topicwarden:(\S+) (.*)")


def our_steps() -> Iterator[tuple[Mapping[str, Any], Mapping[str, str]]]:
    """Yield each job that uses the Action, with the inputs."""
    for text in PAGE_WORKFLOWS:
        for job in yaml.safe_load(text)["jobs"].values():
            yield from ((job, step["with"]) for step in job["steps"] if step["uses"] == PUBLISHED)


@pytest.fixture
def page_project(tmp_path: Path) -> Path:
    """A repository that has the workflows of the page. The Action is pinned, as the page recommends."""
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    for number, text in enumerate(PAGE_WORKFLOWS):
        pinned = text.replace(PUBLISHED, f"topicwarden/topicwarden@{'0' * 40} # v1.0.0")
        (folder / f"{number}.yml").write_text(pinned, encoding="utf-8")
    run("git", "init", "--quiet", folder=tmp_path)
    return tmp_path


def test_linters_find_nothing_in_the_workflows(page_project: Path) -> None:
    files = sorted((page_project / ".github" / "workflows").iterdir())
    assert len(files) == 3
    run(BIN / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *files)
    run(BIN / "zizmor", "--offline", "--no-progress", "--strict-collection", ".", folder=page_project)
    run(*actionlint(), folder=page_project)


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
            **({"security-events": "write", "actions": "read"} if inputs["command"] == "audit" else {}),
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
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        run("bash", "-n", "-c", block)


def test_the_path_of_the_application_is_that_of_the_image() -> None:
    path = re.search(r"`local://(/\S+)`", PAGE)
    assert path
    assert f" {path[1]}\n" in (REPOSITORY / "Dockerfile").read_text(encoding="utf-8")
