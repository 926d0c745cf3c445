"""Test that a deploy that was killed is repaired by the same command. ``kills.py`` kills many more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.provider.kills import kill_one_deploy, killable_cluster, killable_stack
from topicwarden.toolchain import Toolchain


@pytest.fixture(scope="module")
def cluster(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with killable_cluster(tmp_path_factory.mktemp("kills")) as folder:
        yield folder


@pytest.mark.parametrize(
    ("change", "process", "after_s"),
    [("create", "engine", 1.5), ("create", "command", 1.8), ("update", "command", 1.6), ("delete", "engine", 2.0)],
)
def test_the_same_command_repairs_a_killed_deploy(cluster: Path, change: str, process: str, after_s: float) -> None:
    result = kill_one_deploy(killable_stack(cluster, f"{change}{process}"), change, process, after_s)
    assert result.converged, (result, result.output)


def test_an_undeclared_topic_of_a_killed_deploy_is_named(cluster: Path) -> None:
    """The engine is killed after the topics were created, and before it wrote the state."""
    stack = killable_stack(cluster, "orphan")
    stack.deploy(0, 1)
    stack.deploy(1, 1_000_000)
    # The state of the first deploy, and the record of the second: what a kill leaves behind.
    assert stack.shell.run("pulumi", "state", "unprotect", "--yes", "--all", "--stack", "dev").returncode == 0
    urn = "urn:pulumi:dev::topicwarden::topicwarden:index:TopicSet$topicwarden:index:Domain$kafka:index/topic:Topic"
    removed = stack.shell.run("pulumi", "state", "delete", "--yes", "--stack", "dev", f"{urn}::orphan.t0.v1")
    assert removed.returncode == 0, removed.stderr
    stack.declare(0, 1)
    refused = stack.up()
    assert refused.returncode == 1
    assert "orphan.t0.v1: a deploy that was killed created this" in refused.stdout
    stack.deploy(1, 1_000_000)
    assert "orphan.t0.v1" in stack.in_state()


def test_a_deploy_after_a_complete_deletion_does_not_refresh(cluster: Path) -> None:
    stack = killable_stack(cluster, "complete")
    stack.deploy(1, 1_000_000)
    stack.deploy(0, 1)
    assert stack.in_state() == {"complete.keep.v1"}
    after = stack.up()
    assert after.returncode == 0
    assert "a deploy was killed" not in after.stdout + after.stderr
