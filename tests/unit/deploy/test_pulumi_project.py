"""Test which programs topicwarden runs with Pulumi."""

from __future__ import annotations

from pathlib import Path

import pytest

from topicwarden.cli.init import TEMPLATE
from topicwarden.deploy.pulumi_project import require_program
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.operations.find_pulumi import engine_of


def test_no_command_runs_a_foreign_program(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: infra\nruntime: python\n")
    with pytest.raises(Refusal, match="is of another Pulumi program: expected `runtime: python`"):
        engine_of(Project(tmp_path), "dev")


@pytest.mark.parametrize(
    "text",
    [
        (TEMPLATE / "project" / "Pulumi.yaml").read_text(encoding="utf-8"),
        "name: x\nruntime: python\nmain: ./stacks\nconfig: stacks/\n",
    ],
)
def test_the_program_of_this_tool_is_accepted(tmp_path: Path, text: str) -> None:
    (tmp_path / "Pulumi.yaml").write_text(text)
    require_program(Project(tmp_path))
