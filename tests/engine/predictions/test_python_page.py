"""Test that the plan task of the page on Python previews a real deploy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.predictions.conftest import deployment
from tests.support.documents import block


def test_the_plan_task_of_the_page_returns_what_would_change_or_fails(
    servers: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    stack = deployment(tmp_path, {"page.v1.yaml": "{owner: team, partitions: 2, replication_factor: 1}"})
    for name, value in stack.shell.variables.items():
        monkeypatch.setenv(name, value)
    pending_changes, root = block("kafka_tasks").pending_changes, str(stack.project.root)
    stack.write({"more.v1.yaml": "{owner: team, partitions: 2, replication_factor: 1}"})
    capfd.readouterr()
    assert pending_changes(root, "dev") == ["more.v1"]
    assert capfd.readouterr() == ("", "")
    stack.write({"page.v1.yaml": "{owner: team, partitions: 1, replication_factor: 1}"})
    with pytest.raises(ValueError, match="refused"):
        pending_changes(root, "dev")
