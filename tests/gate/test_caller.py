"""The variable that names a caller means nothing without the caller's lock."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from topicwarden.deploy.caller import VARIABLE, Caller, called_by, calling
from topicwarden.deploy.engine import Engine
from topicwarden.project import Project


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine(Project(tmp_path), "house/shop/dev")


def told(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(VARIABLE, value)


def test_a_caller_is_known_while_it_holds_its_file(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with calling(engine, Caller.PLAN) as calls:
        told(monkeypatch, calls.variables[VARIABLE])
        assert called_by(Caller.PLAN, engine.project, "dev")
        assert not called_by(Caller.IMPORT, engine.project, "dev")
        assert not called_by(Caller.PLAN, engine.project, "prod")
        assert not called_by(Caller.PLAN, Project(engine.project.root / "other"), "dev")
    assert not called_by(Caller.PLAN, engine.project, "dev")


def test_a_file_that_nobody_holds_means_nothing(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with calling(engine, Caller.IMPORT) as calls:
        copy = tmp_path / "copy"
        copy.write_bytes(Path(calls.variables[VARIABLE]).read_bytes())
    copy.chmod(0o600)
    for value in ("", "1", "true", str(copy), str(tmp_path), str(tmp_path / "missing"), "/dev/null"):
        told(monkeypatch, value)
        assert not called_by(Caller.IMPORT, engine.project, "dev"), value


def test_a_file_that_others_may_read_or_that_is_a_link_means_nothing(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with calling(engine, Caller.IMPORT) as calls:
        path = Path(calls.variables[VARIABLE])
        link = tmp_path / "link"
        link.symlink_to(path)
        told(monkeypatch, str(link))
        assert not called_by(Caller.IMPORT, engine.project, "dev")
        told(monkeypatch, str(path))
        path.chmod(0o644)
        assert not called_by(Caller.IMPORT, engine.project, "dev")
        path.chmod(0o600)
        assert called_by(Caller.IMPORT, engine.project, "dev")


def test_the_file_is_private(engine: Engine) -> None:
    with calling(engine, Caller.PLAN) as calls:
        path = Path(calls.variables[VARIABLE])
        assert path.stat().st_mode & 0o077 == 0
        assert path.stat().st_uid == os.geteuid()
    assert not path.exists()
