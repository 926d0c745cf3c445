"""Test that the sandbox does not touch what users own: the secrets of their stacks, and their Pulumi backend."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.projects import BIN, Shell, borrowing_cache, project_of
from topicwarden.toolchain import Toolchain

SANDBOX = "config: {'topicwarden:cluster': sandbox}\n"
OTHER = "config: {'kafka:bootstrapServers': ['broker.example.com:9092']}\n"


@pytest.fixture(scope="module")
def installed(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment variables with a separate cache after an installation, which used the Pulumi on the PATH."""
    folder = tmp_path_factory.mktemp("installed")
    cache = borrowing_cache(folder / "cache")
    (cache / "pulumi" / "bin").unlink()
    (cache / "pulumi" / "chosen.json").unlink()
    path = os.pathsep.join((str(tools.pulumi.parent), str(BIN), os.environ["PATH"]))
    variables = {"TOPICWARDEN_CACHE": str(cache), "PATH": path}
    _ended_well(shell(folder / "first", variables).in_process("sandbox", "install"))
    return variables


@pytest.fixture
def variables(installed: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Environment variables with a copy of the cache, and without a backend or passphrase."""
    for name in ("PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"):
        monkeypatch.delenv(name, raising=False)
    cache = shutil.copytree(installed["TOPICWARDEN_CACHE"], tmp_path / "cache", symlinks=True)
    return {**installed, "TOPICWARDEN_CACHE": str(cache)}


def shell(folder: Path, variables: Mapping[str, str], **stacks: str) -> Shell:
    project = project_of(folder / "project", {"a.yaml": "{partitions: 1, replication_factor: 1}"})
    for path in project.stacks.glob("Pulumi.*.yaml"):
        path.unlink()
    for stack, settings in stacks.items():
        (project.stacks / f"Pulumi.{stack}.yaml").write_text(settings)
    return Shell(project.root, variables)


def exported(shell: Shell, *arguments: str) -> tuple[str | None, str]:
    """Return the passphrase that the shell gets, and the messages on standard error."""
    done = shell.in_process("sandbox", "env", *arguments)
    assert done.returncode == 0, done.stderr
    lines = dict(line.removeprefix("export ").split("=", 1) for line in done.stdout.splitlines())
    return lines.get("PULUMI_CONFIG_PASSPHRASE"), done.stderr


def test_only_stacks_on_the_sandbox_get_its_passphrase(tmp_path: Path, variables: dict[str, str]) -> None:
    both = shell(tmp_path, variables, dev=SANDBOX, prod=OTHER)
    assert exported(both, "--stack", "dev") == ("sandbox", "")
    assert exported(both, "--stack", "prod") == (None, "")
    passphrase, output = exported(both)
    assert passphrase is None
    assert "`topicwarden sandbox env --stack dev`" in output


def test_a_project_that_only_has_the_sandbox_gets_it_at_once(tmp_path: Path, variables: dict[str, str]) -> None:
    assert exported(shell(tmp_path, variables, dev=SANDBOX)) == ("sandbox", "")


def test_a_project_without_a_sandbox_or_with_broken_settings_gets_none(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    assert exported(shell(tmp_path, variables, prod=OTHER)) == (None, "")
    assert exported(shell(tmp_path, variables, prod="config: [")) == (None, "")
    assert exported(shell(tmp_path, variables)) == (None, "")


def test_a_passphrase_that_is_set_stays(tmp_path: Path, variables: dict[str, str]) -> None:
    mine = shell(tmp_path, {**variables, "PULUMI_CONFIG_PASSPHRASE": "mine"}, dev=SANDBOX)
    assert exported(mine) == (None, "")
    assert "sandbox" not in _shell_value(mine)


def _shell_value(shell: Shell) -> str:
    script = 'eval "$(topicwarden sandbox env)"; printf %s "$PULUMI_CONFIG_PASSPHRASE"'
    done = shell.run("bash", "-c", script)
    _ended_well(done)
    return done.stdout


def test_installing_makes_stacks_only_of_the_sandbox_and_only_in_the_projects_own_backend(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    prod = shell(tmp_path / "prod", variables, prod=OTHER)
    _ended_well(prod.in_process("sandbox", "install"))
    assert sorted(path.name for path in (prod.folder / "stacks").glob("Pulumi.*")) == ["Pulumi.prod.yaml"]
    mine = tmp_path / "mine"
    mine.mkdir()
    both = shell(tmp_path / "both", {**variables, "PULUMI_BACKEND_URL": mine.as_uri()}, dev=SANDBOX, prod=OTHER)
    _ended_well(both.in_process("sandbox", "install"))
    assert list(mine.iterdir()) == []
    own = Shell(both.folder, variables)
    _ended_well(own.in_process("sandbox", "install"))
    assert [path.name for path in _state(tmp_path).rglob("*.json")] == ["dev.json"]


def test_the_printed_variables_leave_the_stack_beside_the_sandbox(tmp_path: Path, variables: dict[str, str]) -> None:
    """With these variables, `topicwarden up` found no stack ``dev``, and without them it did."""
    script = 'eval "$(topicwarden sandbox env)"; topicwarden sandbox install'
    _ended_well(shell(tmp_path, variables, dev=SANDBOX).run("bash", "-c", script))
    assert [path.name for path in _state(tmp_path).rglob("*.json")] == ["dev.json"]


def test_removing_the_sandbox_keeps_the_state_of_other_stacks(tmp_path: Path, variables: dict[str, str]) -> None:
    both = shell(tmp_path, variables, dev=SANDBOX, prod=OTHER)
    _ended_well(both.in_process("sandbox", "install"))
    stacks = next(_state(tmp_path).rglob("dev.json")).parent
    (stacks / "prod.json").write_text("{}")
    (stacks / "dev-2.json").write_text("{}")
    _ended_well(both.in_process("sandbox", "down", "--remove"))
    assert sorted(path.name for path in stacks.iterdir()) == ["dev-2.json", "prod.json"]


def test_the_demo_deploys_to_nothing_but_the_sandbox(tmp_path: Path, variables: dict[str, str]) -> None:
    done = shell(tmp_path, variables, dev=OTHER).in_process("demo")
    assert (done.returncode, done.stdout) == (2, "")
    assert "`topicwarden:cluster: sandbox`" in done.stderr


def test_no_other_stack_is_deployed_with_the_sandboxs_passphrase(tmp_path: Path, variables: dict[str, str]) -> None:
    prod = shell(tmp_path, variables, prod=OTHER)
    (tmp_path / "state").mkdir()
    script = 'eval "$(topicwarden sandbox env)"; export PULUMI_CONFIG_PASSPHRASE=sandbox; '
    backend = f"export PULUMI_BACKEND_URL={(tmp_path / 'state').as_uri()}; pulumi stack init prod --non-interactive; "
    done = prod.run("bash", "-c", script + backend + "pulumi preview --stack prod --non-interactive")
    assert done.returncode != 0
    assert "PULUMI_CONFIG_PASSPHRASE is the public passphrase of the sandbox" in done.stdout + done.stderr


def _state(folder: Path) -> Path:
    return folder / "cache" / "pulumi" / "state"


def _ended_well(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
