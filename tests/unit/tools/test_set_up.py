"""Test which steps a set-up runs, and what it says about missing tools."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tools import build_wheel, set_up
from tools.build_part import PulumiSource, prerequisites, pulumi_cli, spark_reader
from tools.python_environment import PythonEnvironment
from tools.set_up import KAFKA, PACKAGES, PULUMI, READER, SANDBOX


@pytest.fixture(autouse=True)
def empty_clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Nothing is installed, and Pulumi's site does not answer."""
    monkeypatch.setattr(set_up, "_FOLDER", tmp_path)
    monkeypatch.setattr(PythonEnvironment, "current", lambda *_: False)
    monkeypatch.setattr(pulumi_cli, "present", lambda _: None)
    monkeypatch.setattr(spark_reader, "is_missing", lambda _: True)
    monkeypatch.setattr(prerequisites, "require", lambda **_: None)
    choose(monkeypatch, PulumiSource.BUILD)
    yield


def choose(monkeypatch: pytest.MonkeyPatch, source: PulumiSource) -> None:
    monkeypatch.setattr(pulumi_cli, "choose", lambda _: pulumi_cli.PulumiChoice(source, "", None))


def needs(goal: str) -> dict[str, set[str]]:
    return {step.name: set(step.needs) for step in set_up.missing_steps(goal)}


def test_the_build_of_pulumi_starts_first_and_beside_everything_else() -> None:
    steps = needs("demo")
    assert next(iter(steps)) == PULUMI
    assert steps == {
        PULUMI: set(),
        PACKAGES: set(),
        READER: set(),
        KAFKA: {PACKAGES},
        SANDBOX: {PULUMI, PACKAGES, READER, KAFKA},
    }


def test_the_installer_of_pulumi_needs_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, PulumiSource.OFFICIAL)
    assert needs("all")[PULUMI] == {PACKAGES}


def test_gates_and_unit_tests_need_packages_only() -> None:
    assert list(needs("packages")) == [PACKAGES]


def test_a_wheel_needs_no_package_of_ours() -> None:
    assert list(needs("wheel")) == ["build tools", READER, "other Spark lines", "wheel"]


def test_a_complete_set_up_starts_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def start(*_: Any, **__: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(PythonEnvironment, "current", lambda *_: True)
    monkeypatch.setattr(pulumi_cli, "present", lambda _: tmp_path / "pulumi")
    monkeypatch.setattr(spark_reader, "is_missing", lambda _: False)
    assert list(needs("demo")) == [KAFKA, SANDBOX]
    (tmp_path / "demo.stamp").write_text(set_up._stamp(), encoding="utf-8")
    assert list(needs("all")) == [KAFKA, SANDBOX]
    (tmp_path / "demo.stamp").rename(tmp_path / "all.stamp")
    monkeypatch.setattr(subprocess, "Popen", start)
    assert [set_up.main([goal]) for goal in ("packages", "demo", "all")] == [0, 0, 0]


def test_another_java_or_another_stack_makes_a_set_up_incomplete(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.touch(0o755)
    before = set_up._stamp()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert set_up._stamp() != before


def test_a_missing_go_is_named_with_its_remedy_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(set_up, "_FOLDER", tmp_path)
    monkeypatch.setattr(pulumi_cli, "present", lambda _: None)
    choose(monkeypatch, PulumiSource.BUILD)
    monkeypatch.setattr(prerequisites, "find_go", lambda: None)
    monkeypatch.setattr(set_up, "StepGraph", None)
    assert set_up.main(["demo"]) == 2
    message = capsys.readouterr().err
    assert "Go, 1.21 or newer, to build Pulumi" in message
    assert "https://go.dev/dl" in message and "or Pulumi itself on the PATH" in message


def test_an_unknown_goal_is_refused_by_a_python_without_packages() -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-m", "tools.set_up", "everything"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, "expected one of packages, demo, all, wheel, got 'everything'\n")


def test_classes_that_differ_between_spark_lines_are_found(tmp_path: Path) -> None:
    for line, contents in (("4.0", "a"), ("4.2", "b")):
        (tmp_path / line / "io").mkdir(parents=True)
        (tmp_path / line / "io" / "Reader.class").write_text(contents, encoding="utf-8")
        (tmp_path / line / "io" / "Same.class").write_text("same", encoding="utf-8")
    (tmp_path / "4.2" / "New.class").touch()
    assert build_wheel.differing_classes(tmp_path / "4.0", tmp_path / "4.2") == ["New.class", "io/Reader.class"]
    assert build_wheel.differing_classes(tmp_path / "4.0", tmp_path / "4.0") == []
