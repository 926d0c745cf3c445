"""Test that a cluster of many topics, made by people and applications over years, is adopted as the guide says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from tests.conftest import REPOSITORY
from tests.support import documents
from tests.support.grown_clusters import grown_topics
from tests.support.projects import Shell, empty_stack, own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.toolchain import Toolchain

GUIDE = (REPOSITORY / "docs" / "how-to" / "import.md").read_text(encoding="utf-8")


@pytest.fixture(params=[100, 300])
def topics(request: pytest.FixtureRequest) -> int:
    """The number of topics."""
    return int(request.param)


@pytest.fixture
def shell(tools: Toolchain, tmp_path: Path, topics: int) -> Iterator[Shell]:
    """Return an empty project with the policies of ``init``, on a broker with topics that nobody has declared."""
    with own_cache(tmp_path, warm=True):
        project = project_of(tmp_path / "project", {})
        with running(sandbox_of(project), brokers=1) as sandbox:
            admin = KafkaAdminClient(bootstrap_servers=sandbox.bootstrap_servers)
            admin.create_topics(
                [
                    NewTopic(topic.name, topic.partitions, topic.replication_factor, topic_configs=dict(topic.config))
                    for topic in grown_topics(seed=7, number=topics, brokers=1)
                ],
                timeout_ms=120_000,
            )
            admin.close()
            yield empty_stack(project, tmp_path / "state")


def commands_of_the_guide() -> list[list[str]]:
    """Return the commands of the guide for a live cluster, for the stack ``dev`` and a day that is not over."""
    section = GUIDE.partition("## Adopt an existing cluster\n")[2].partition("\n## ")[0]
    replaced = {"prod": "dev", "2027-06-30": "2999-12-31"}
    return [
        [replaced.get(word, word) for word in arguments]
        for code, arguments in documents.commands(section)
        if code.block
    ]


@pytest.mark.nightly("The suite keeps 100 topics; units of importing fit more of them on a screen.", stays=("100",))
def test_an_import_with_waivers_ends_with_an_empty_plan(shell: Shell, topics: int) -> None:
    init, dry_run, importing, planning = commands_of_the_guide()
    for command in (init, dry_run):
        done = shell.in_process(*command)
        assert done.returncode == 0, done.stdout + done.stderr
    done = shell.in_process(*importing)
    assert done.returncode == 0, done.stdout + done.stderr
    internal = 1  # the heartbeats of Debezium, whose name begins with two underscores
    assert f"{topics - internal} topics adopted into stack dev" in done.stderr
    assert "0 errors" in done.stderr
    assert done.stdout.count("\n") < 100
    plan = shell.in_process(*planning, "--detailed-exitcode")
    assert plan.returncode == 0, plan.stdout + plan.stderr
    assert f"no topic changes; {topics - internal} as declared" in plan.stdout
    again = shell.in_process(*importing)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "nothing to adopt into stack dev" in again.stderr
    assert sorted(path.name for path in (shell.folder / "policies").glob("imported*")) == ["imported.yaml"]
