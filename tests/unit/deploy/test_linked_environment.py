"""Test the virtual environment that a project gets if topicwarden is installed elsewhere, for example with pipx."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import topicwarden
from topicwarden.deploy import linked_environment
from topicwarden.deploy.linked_environment import PROVIDER, link_environment
from topicwarden.model.project import Project

PULUMI = "name: p\nruntime: python\nplugins: {providers: [{name: kafka, path: .venv/bin}]}\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "a project"
    root.mkdir()
    (root / "Pulumi.yaml").write_text(PULUMI)
    return Project(root)


def output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_environment_has_the_packages_of_this_installation(project: Project) -> None:
    folder = link_environment(project)
    assert folder == project.root / ".venv"
    code = "import sys, topicwarden, yaml; print(sys.prefix, topicwarden.__file__)"
    assert output(folder / "bin" / "python", "-c", code) == f"{folder} {topicwarden.__file__}"
    assert output(folder / "bin" / "topicwarden", "--version") == topicwarden.__version__
    assert link_environment(project) is None


def test_the_provider_starts_from_any_folder(project: Project, tmp_path: Path) -> None:
    link_environment(project)
    process = subprocess.Popen(
        [project.root / ".venv" / "bin" / PROVIDER, "127.0.0.1:1"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert int(process.stdout.readline()) > 0
    process.kill()
    process.communicate()


def test_an_existing_environment_is_kept(project: Project) -> None:
    script = project.root / ".venv" / "bin" / PROVIDER
    script.parent.mkdir(parents=True)
    script.write_text("#!/usr/bin/python\n# written by pip\n")
    assert link_environment(project) is None
    script.unlink()
    assert link_environment(project) is None  # it has no topicwarden, which the deploy will say
    assert list((project.root / ".venv").rglob("*")) == [script.parent]


def test_the_running_environment_is_kept(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = link_environment(project)
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(linked_environment, "_package_folders", lambda: ["/elsewhere"])
    assert link_environment(project) is None


def test_a_link_to_another_installation_is_replaced(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(linked_environment, "_package_folders", lambda: ["/uninstalled"])
        assert link_environment(project)
    assert link_environment(project)
    assert output(project.root / ".venv" / "bin" / "topicwarden", "--version") == topicwarden.__version__
    (project.root / ".venv" / "bin" / "python").unlink()  # Python was upgraded
    assert link_environment(project)


@pytest.mark.parametrize(
    "text", ["name: p\nruntime: python\n", PULUMI.replace(".venv", "/opt/tools"), PULUMI.replace(".venv", "../tools")]
)
def test_a_project_without_its_own_provider_gets_none(project: Project, text: str) -> None:
    (project.root / "Pulumi.yaml").write_text(text)
    assert link_environment(project) is None
    shutil.rmtree(project.root)
