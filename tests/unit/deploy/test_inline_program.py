"""Test the program and the provider in the process of a command."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from topicwarden.deploy import inline_program
from topicwarden.deploy.inline_program import attached_provider, run_program
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project


def test_each_run_imports_the_modules_of_the_program_again(tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text("import own_resources_of_this_test\n")
    runs = tmp_path / "runs"
    (tmp_path / "own_resources_of_this_test.py").write_text(f"open({str(runs)!r}, 'a').write('run ')\n")
    for _ in range(2):
        run_program(tmp_path)
    assert runs.read_text() == "run run "


def test_a_provider_that_cannot_listen_is_no_endless_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        await asyncio.sleep(0)
        raise RuntimeError("no port")

    monkeypatch.setattr(inline_program, "start_provider", fail)
    with (
        pytest.raises(Refusal, match=r"cannot listen on .*: no port"),
        attached_provider(PulumiEngine(Project(tmp_path), "dev")),
    ):
        pass
