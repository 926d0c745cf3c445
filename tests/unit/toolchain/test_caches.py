"""Test where downloads and the data of a project are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from topicwarden.model import project
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain, install, jars, prerequisites, pulumi_cli, spark_reader


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the home folder of a user with an installed wheel."""
    for name in ("TOPICWARDEN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(project, "_CHECKOUT", tmp_path / "lib")
    return tmp_path


def test_a_checkout_keeps_downloads_for_all_projects(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TOPICWARDEN_CACHE", raising=False)
    assert Project(tmp_path).tools_cache == REPOSITORY / ".cache"
    assert Project(tmp_path).cache == tmp_path / ".cache"


@pytest.mark.parametrize(
    ("platform", "xdg", "expected"),
    [
        ("linux", None, ".cache/topicwarden"),
        ("linux", "relative", ".cache/topicwarden"),  # invalid in the XDG specification
        ("linux", "/var/cache/me", "/var/cache/me/topicwarden"),
        ("darwin", None, "Library/Caches/topicwarden"),
    ],
)
def test_an_installation_uses_the_cache_of_the_user(
    installed: Path, monkeypatch: pytest.MonkeyPatch, platform: str, xdg: str | None, expected: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    if xdg is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    assert Project(installed / "topics").tools_cache == installed / expected
    assert Project(installed / "topics").cache == installed / "topics" / ".cache"


def test_one_variable_overrides_both(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPICWARDEN_CACHE", str(installed / "cache"))
    assert Project(installed).tools_cache == Project(installed).cache == installed / "cache"


def test_an_installation_says_which_parts_remain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Downloads and builds, which other tests really run, end at once here."""
    monkeypatch.setenv("TOPICWARDEN_CACHE", str(tmp_path))
    built = pulumi_cli.PulumiChoice(pulumi_cli.PulumiSource.BUILD, "no download", None)
    monkeypatch.setattr(pulumi_cli, "choose", lambda _: built)
    monkeypatch.setattr(jars, "present", lambda _: False)
    monkeypatch.setattr(spark_reader, "outdated", lambda _: True)
    monkeypatch.setattr(prerequisites, "require", lambda **_: None)
    for module, name in ((jars, "fetch"), (spark_reader, "build"), (pulumi_cli, "install")):
        monkeypatch.setattr(module, name, lambda *_: None)
    monkeypatch.setattr("topicwarden.toolchain.toolchain", lambda _: Toolchain(tmp_path, tmp_path, tmp_path))
    lines: list[str] = []
    install(Project(tmp_path), lines.append)
    assert lines == [
        "installed 1 of 3 parts; remaining: the Spark reader, Pulumi",
        "installed 2 of 3 parts; remaining: Pulumi",
    ]
