"""Test that the README is correct: its commands accept its examples and print the output that it shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
COMMAND = Path(sys.executable).with_name("topicwarden")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project from the README's examples: its topic, its policies, and a stack with one of its stack names."""
    topic = next(block for block in blocks("yaml") if block.startswith("# topics/orders/"))
    policies = next(block for block in blocks("yaml") if block.startswith("rules:"))
    files = {
        "Pulumi.yaml": "name: readme\nruntime: python\n",
        "topics/orders/orders.placed.v1.yaml": topic.partition("\n")[2],
        "policies/topics.yaml": policies.replace("legacy.*", "orders.*").replace("max: 30d", "max: 1d"),
        "stacks/Pulumi.prod.yaml": next(block for block in blocks("yaml") if block.startswith("config:")),
        "stacks/Pulumi.dev.yaml": "config:\n  topicwarden:cluster: sandbox\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], cwd=project, capture_output=True, text=True, check=False)


def test_the_topic_the_policies_and_the_stack_hold(project: Path) -> None:
    answer = run(project, "check")
    assert (answer.returncode, answer.stdout) == (0, "")
    assert "waived" in answer.stderr


def test_the_contents_hold(project: Path) -> None:
    contents = next(block for block in blocks("yaml") if block.startswith("contents:"))
    folder = project / "topics" / "orders"
    (folder / "schemas").mkdir(parents=True)
    (folder / "schemas" / "refund.json").write_text('{"properties": {"amount": {"type": "number"}}}', encoding="utf-8")
    topic = (project / "topics/orders/orders.placed.v1.yaml").read_text(encoding="utf-8")
    rest, stacks = topic.partition("\ncontents:")[0], "stacks:" + topic.partition("\nstacks:")[2]
    own = "description: A refund.\nowner: team-orders\n" + rest[rest.index("partitions:") :]
    (folder / "orders.refunded.v1.yaml").write_text(f"{own}\n{contents}{stacks}", encoding="utf-8")
    answer = run(project, "check")
    assert (answer.returncode, answer.stdout) == (0, "")
    shown = run(project, "show", "orders.refunded.v1", "--stack", "prod")
    assert "positive-amount" in shown.stdout and "murmur2" in shown.stdout


def test_the_misspelt_setting_is_reported_as_shown(project: Path) -> None:
    topic = project / "topics/orders/orders.placed.v1.yaml"
    topic.write_text(
        "# topics/orders/orders.placed.v1.yaml\n" + topic.read_text().replace("retention.ms:", "retention.mss:")
    )
    shown = next(block for block in blocks("console")).partition("\n")[2]
    answer = run(project, "check")
    assert answer.returncode == 1
    assert answer.stdout == shown
