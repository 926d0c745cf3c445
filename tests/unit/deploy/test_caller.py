"""The variable that names a caller means nothing without the caller's lock."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from topicwarden.deploy.invoking_command import VARIABLE, CommandKind, invoked_by, invoking, report_end
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.model.project import Project


@pytest.fixture
def engine(tmp_path: Path) -> PulumiEngine:
    return PulumiEngine(Project(tmp_path), "house/shop/dev")


def told(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(VARIABLE, value)


def test_a_caller_is_known_while_it_holds_its_file(engine: PulumiEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with invoking(engine, CommandKind.PLAN) as call:
        told(monkeypatch, call.engine.variables[VARIABLE])
        assert invoked_by(CommandKind.PLAN, engine.project, "dev")
        assert not invoked_by(CommandKind.IMPORT, engine.project, "dev")
        assert not invoked_by(CommandKind.PLAN, engine.project, "prod")
        assert not invoked_by(CommandKind.PLAN, Project(engine.project.root / "other"), "dev")
    assert not invoked_by(CommandKind.PLAN, engine.project, "dev")


def test_a_file_that_nobody_holds_means_nothing(
    engine: PulumiEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with invoking(engine, CommandKind.IMPORT) as call:
        copy = tmp_path / "copy"
        copy.write_bytes(Path(call.engine.variables[VARIABLE]).read_bytes())
    copy.chmod(0o600)
    for value in ("", "1", "true", str(copy), str(tmp_path), str(tmp_path / "missing"), "/dev/null"):
        told(monkeypatch, value)
        assert not invoked_by(CommandKind.IMPORT, engine.project, "dev"), value


def test_a_file_that_others_may_read_or_that_is_a_link_means_nothing(
    engine: PulumiEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with invoking(engine, CommandKind.IMPORT) as call:
        path = Path(call.engine.variables[VARIABLE])
        link = tmp_path / "link"
        link.symlink_to(path)
        told(monkeypatch, str(link))
        assert not invoked_by(CommandKind.IMPORT, engine.project, "dev")
        told(monkeypatch, str(path))
        path.chmod(0o644)
        assert not invoked_by(CommandKind.IMPORT, engine.project, "dev")
        path.chmod(0o600)
        assert invoked_by(CommandKind.IMPORT, engine.project, "dev")


def test_the_file_is_private(engine: PulumiEngine) -> None:
    with invoking(engine, CommandKind.PLAN) as call:
        path = Path(call.engine.variables[VARIABLE])
        assert path.stat().st_mode & 0o077 == 0
        assert path.stat().st_uid == os.geteuid()
    assert not path.exists()


def test_only_a_program_that_is_called_reports_its_end(engine: PulumiEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with invoking(engine, CommandKind.PLAN) as call:
        report_end(engine.project, "dev")
        assert not call.ended()
        told(monkeypatch, call.engine.variables[VARIABLE])
        report_end(engine.project, "prod")
        assert not call.ended()
        report_end(engine.project, "dev")
        assert call.ended()
        assert not call.ended(), "each program reports its own end"
