"""Test that a missing Pulumi backend or passphrase gives a one-line message that names the variable to set."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.projects import project_of
from topicwarden.deploy.program_run import ProgramRun
from topicwarden.deploy.pulumi_commands import pulumi_preview
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.model.problem import Refusal
from topicwarden.toolchain import Toolchain


@pytest.fixture
def engine(tools: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PulumiEngine:
    """The engine of a user who has Pulumi on the PATH and no other Pulumi setup."""
    for name in [name for name in os.environ if name.startswith("PULUMI_")]:
        monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tools.pulumi.parent}{os.pathsep}{os.environ['PATH']}")
    return PulumiEngine(project_of(tmp_path / "project", {}), "dev")


def test_without_a_backend(engine: PulumiEngine) -> None:
    with pytest.raises(Refusal) as refused:
        engine.resources()
    output = str(refused.value)
    assert output.startswith("Pulumi is not logged in to a backend")
    assert '`eval "$(topicwarden sandbox env --stack dev)"`' in output
    assert "\n" not in output


def test_without_a_passphrase(engine: PulumiEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").mkdir()
    monkeypatch.setenv("PULUMI_BACKEND_URL", (tmp_path / "state").as_uri())
    with monkeypatch.context() as patch:
        patch.setenv("PULUMI_CONFIG_PASSPHRASE", "mine")
        assert engine.run("stack", "init").returncode == 0
    with pytest.raises(Refusal, match=r"stack dev is encrypted with a passphrase: set PULUMI_CONFIG_PASSPHRASE"):
        pulumi_preview(lambda: ProgramRun(engine))


def test_with_the_passphrase_of_another_stack(
    engine: PulumiEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").mkdir()
    monkeypatch.setenv("PULUMI_BACKEND_URL", (tmp_path / "state").as_uri())
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "mine")
    assert engine.run("stack", "init").returncode == 0
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "yours")
    with pytest.raises(Refusal, match=r"is not the passphrase of stack dev: correct it; for a stack on the sandbox"):
        pulumi_preview(lambda: ProgramRun(engine))


def test_without_pulumi(engine: PulumiEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.defpath)
    with pytest.raises(Refusal, match=r"pulumi is not on the PATH: `topicwarden sandbox install` installs it"):
        engine.resources()
