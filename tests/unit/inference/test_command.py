"""Test what the command line refuses before it contacts a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import topicwarden
from tests.support.projects import project_of

TWO_STACKS = {"Pulumi.dev.yaml": "config: {}\n", "Pulumi.prod.yaml": "config: {}\n"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("import", "--show-values"), "are options of --contents: add --contents"),
        (("import", "--contents", "--from", "topics.yaml"), "--contents reads the records of a cluster"),
        (("infer", "t"), "select one with --stack, one of dev, prod"),
        (("infer", "--stack", "dev", "--max-records", "0", "t"), "--max-records 0: expected 1 or more"),
        (("infer", "--stack", "dev", "--min-records", "0", "t"), "--min-records 0: expected 1 or more"),
        (("infer", "--stack", "dev", "--bootstrap-server", "a:9092", "t"), "remove it, or remove --stack"),
    ],
)
def test_a_command_that_cannot_run_exits_with_2(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    project = project_of(tmp_path, {})
    for name, text in TWO_STACKS.items():
        (project.root / "stacks" / name).write_text(text, encoding="utf-8")
    outcome = topicwarden(*arguments, cwd=project.root)
    assert outcome.code == 2
    assert message in " ".join(outcome.err.split())
