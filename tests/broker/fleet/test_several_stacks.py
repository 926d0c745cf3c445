"""Test commands on several stacks: two clusters, a dead one, one that never answers, and broken settings."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.projects import Shell

STACKS = ["broken", "dead", "east", "frozen", "locked", "west"]
LONGEST_S = 300


def run(shell: Shell, *arguments: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]], str]:
    began = time.monotonic()
    done = shell.in_process(*arguments, "--format", "json")
    assert time.monotonic() - began < LONGEST_S
    assert "Traceback" not in done.stderr
    report = json.loads(done.stdout)
    assert report["exit_code"] == done.returncode, done.stderr
    return report, {each["stack"]: each for each in report["stacks"]}, done.stderr


def require_failures(stacks: dict[str, dict[str, Any]], of_broken_files: int) -> None:
    assert list(stacks) == STACKS
    assert [stacks[name]["exit_code"] for name in ("broken", "locked")] == [of_broken_files, of_broken_files]
    assert [name for name in ("dead", "east", "frozen", "west") if stacks[name]["exit_code"] == 2] == ["dead", "frozen"]
    reasons = {name: stacks[name]["summary"] for name in ("broken", "dead", "frozen", "locked")}
    assert "stacks/Pulumi.broken.yaml:2:1" in reasons["broken"]
    assert re.search(r"127\.0\.0\.1:\d+", reasons["dead"])
    assert re.search(r"127\.0\.0\.1:\d+", reasons["frozen"])
    assert "Pulumi.locked.yaml" in reasons["locked"] or "'locked'" in reasons["locked"]
    assert all("\n" not in reason and "unexpected error" not in reason for reason in reasons.values()), reasons


def test_an_audit_of_all_stacks_reads_those_that_answer(shell: Shell, spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "reports"
    report, stacks, progress = run(shell, "audit", "--all-stacks", "--out", str(out))
    require_failures(stacks, 2)
    assert (stacks["east"]["exit_code"], report["exit_code"]) == (1, 2)
    assert stacks["west"]["report"]["cluster_id"] != stacks["east"]["report"]["cluster_id"]
    verdicts = [each for each in report["differences"] if each["kind"] == "verdict"]
    assert {"east": "fail", "west": "pass"} in [each["values"] for each in verdicts if each["topics"] == ["orders.v1"]]
    partitions = next(each for each in report["differences"] if each["name"] == "partitions")
    assert partitions["values"] == {name: "2" if name == "west" else "1" for name in STACKS}
    assert {"fleet.html", "fleet.json", "fleet.md", "fleet.txt", "east", "west"} == {
        each.name for each in out.iterdir()
    }
    assert (out / "west" / "report.html").is_file()
    assert "dead (2 of 6): " in progress


@pytest.mark.parametrize("command", ["plan", "usage"])
def test_a_command_on_all_stacks_reads_those_that_answer(shell: Shell, command: str) -> None:
    report, stacks, _ = run(shell, command, "--all-stacks")
    require_failures(stacks, 1 if command == "plan" else 2)
    assert stacks["west"]["report"]["stack"] == "west"
    if command == "plan":
        assert not [each for each in report["differences"] if each["kind"] == "change"]  # both adopt both topics


@pytest.mark.nightly("The suite keeps several stacks, one of them without an answer.")
def test_two_stacks_that_answer_are_one_report(shell: Shell) -> None:
    """Run a process, which has one session for both."""
    done = shell.topicwarden("audit", "--stack", "west", "--stack", "east", "--stack", "west")
    assert done.returncode == 1, done.stderr
    assert done.stdout.index("=== stack west") < done.stdout.index("=== stack east")
    assert done.stdout.splitlines()[-1] == "2 stacks: 1 without a problem, 1 with problems; exit code 1"
    single = shell.topicwarden("audit", "--stack", "west", "--stack", "west")
    assert single.returncode == 0, single.stderr
    assert "===" not in single.stdout
