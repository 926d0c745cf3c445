"""Test that `topicwarden destroy` deletes only what the deployed YAML allows, and that `refresh` changes no topic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.predictions.conftest import TOPIC, Deployment, day, deployment, edited
from tests.support.stack_state import resources_in_state
from topicwarden.deploy.program_run import PlanChanged
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kinds.topic.resource import SET_TYPE
from topicwarden.operations.declared_topics import checked_stack
from topicwarden.operations.deploy import deploy_topics
from topicwarden.operations.plan import planned

FREE, KEPT = "destroy/free.v1.yaml", "destroy/kept.v1.yaml"
NAMES = ("free.v1", "kept.v1")


def topic(allow: str = "", config: str = "") -> str:
    return f"{{owner: team, partitions: 1, replication_factor: 2, config: {{{config}}}, allow: [{allow}]}}\n"


@pytest.fixture
def stack(sandbox: Sandbox, servers: list[str], tmp_path: Path) -> Iterator[Deployment]:
    """Two topics with a record each; the YAML of the first one allows its deletion."""
    stack = deployment(tmp_path / "destroyed", {FREE: topic("delete"), KEPT: topic()})
    with writing(servers) as writer:
        for name in NAMES:
            writer.send(name, "k", "v")
    yield stack
    with connected(servers) as admin:
        admin.delete_topics([name for name in NAMES if name in admin.list_topics()])


def run(stack: Deployment, *arguments: str) -> tuple[int, str]:
    """Return the exit code of a command, and its output on one line."""
    done = stack.shell.in_process(*arguments, "--stack", "dev")
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def live(cluster: Cluster) -> set[str]:
    return {*cluster.snapshot(NAMES).topics}


def test_destroy_deletes_nothing_before_the_yaml_of_every_topic_allows_it(stack: Deployment, cluster: Cluster) -> None:
    code, output = run(stack, "destroy", "--yes")
    assert code == 1
    assert "topicwarden destroy deletes the topic; at most 1 record in 70 B" in output
    assert "write allow: [{change: delete, until: DATE}] into its YAML and deploy that first" in output
    assert live(cluster) == {*NAMES}

    stack.write({KEPT: topic(f"{{change: delete, until: {day(0)}}}")})
    assert run(stack, "destroy", "--yes")[0] == 1, "the word counts when it is deployed"
    assert run(stack, "up", "--yes")[0] == 0
    code, output = run(stack, "destroy")
    assert (code, "no terminal to confirm on: pass --yes" in output) == (2, True)
    assert live(cluster) == {*NAMES}

    code, output = run(stack, "destroy", "--yes")
    assert code == 0, output
    assert "pulumi destroy: all topics at a time; the state is written at each step" in output
    assert live(cluster) == set()
    code, output = run(stack, "destroy", "--yes")
    assert code == 0, output
    assert run(stack, "up", "--yes")[0] == 0
    assert live(cluster) == {*NAMES}


def test_destroy_deletes_nothing_whose_yaml_has_withdrawn_the_word(stack: Deployment, cluster: Cluster) -> None:
    stack.write({KEPT: topic("delete")})
    stack.up()
    stack.write({FREE: topic()})
    code, output = run(stack, "destroy", "--yes")
    assert code == 1
    assert "topicwarden destroy deletes the topic" in output
    stack.write({FREE: "{owner: team, allow: ["})
    assert run(stack, "destroy", "--yes")[0] == 2, "a file that cannot be read may have withdrawn it"
    assert live(cluster) == {*NAMES}


def test_records_that_arrive_after_the_plan_was_confirmed_stop_the_deploy(
    stack: Deployment, servers: list[str], cluster: Cluster
) -> None:
    empty, few = "destroy/empty.v1.yaml", topic("recreate").replace("partitions: 1", "partitions: 2")
    stack.write({empty: few})
    stack.up()
    try:
        stack.write({empty: topic("recreate")})
        with stack.engine() as engine:
            checked = checked_stack(stack.project, "dev", "deployed")
            shown = planned(engine, (), checked)
            before = cluster.snapshot({"empty.v1"}).topics["empty.v1"].id
            with writing(servers) as writer:
                for number in range(30):
                    writer.send("empty.v1", f"k{number}", "v")
            with pytest.raises(PlanChanged, match=r"empty\.v1: lowering partitions from 2 to 1"):
                deploy_topics(engine, checked, lambda line: None, confirmed=shown)
            assert cluster.snapshot({"empty.v1"}).topics["empty.v1"].id == before
            assert deploy_topics(engine, checked, lambda line: None, confirmed=planned(engine, (), checked))
            assert cluster.snapshot({"empty.v1"}).topics["empty.v1"].id != before
    finally:
        with connected(servers) as admin:
            admin.delete_topics(["empty.v1"])


def test_destroy_deletes_nothing_after_the_last_day(stack: Deployment, cluster: Cluster) -> None:
    stack.write({KEPT: topic(f"{{change: delete, until: {day(1)}}}")})
    stack.up()

    def days_later(resources: list[dict[str, Any]]) -> None:
        record = next(each for each in resources if each["type"] == SET_TYPE)["outputs"]["declared"]["kept.v1"]
        record["allow"] = [{"change": "delete", "until": day(-1)}]

    edited(stack, days_later)
    code, output = run(stack, "destroy", "--yes")
    assert (code, f"the YAML allowed its deletion until {day(-1)} only" in output) == (1, True), output
    assert live(cluster) == {*NAMES}


def test_destroy_deletes_no_topic_outside_of_the_scope(stack: Deployment, cluster: Cluster) -> None:
    stack.write({KEPT: topic("delete")})
    stack.up()
    settings = stack.project.root / "stacks" / "Pulumi.dev.yaml"
    for scope, expected in (("7", (2, "topicwarden:scope")), ("['free.*']", (1, "outside of the stack's scope"))):
        settings.write_text(f"config: {{topicwarden:cluster: sandbox, topicwarden:scope: {{topics: {scope}}}}}\n")
        code, output = run(stack, "destroy", "--yes")
        assert (code, expected[1] in output) == (expected[0], True), output
    assert live(cluster) == {*NAMES}


def test_destroy_finishes_what_was_deleted_by_hand(stack: Deployment, servers: list[str], cluster: Cluster) -> None:
    stack.write({KEPT: topic("delete")})
    stack.up()
    with connected(servers) as admin:
        admin.delete_topics(["kept.v1"])
    code, output = run(stack, "destroy", "--yes")
    assert (code, live(cluster)) == (0, set()), output


def test_refresh_reads_what_was_changed_by_hand_and_changes_no_topic(
    stack: Deployment, servers: list[str], cluster: Cluster
) -> None:
    with connected(servers) as admin:
        admin.create_partitions({"free.v1": 2})
        admin.delete_topics(["kept.v1"])
    before = cluster.snapshot(NAMES).topics
    code, output = run(stack, "refresh")
    assert (code, "pulumi refresh: all topics at a time" in output) == (0, True), output
    assert cluster.snapshot(NAMES).topics == before
    (refreshed,) = (each for each in resources_in_state(stack.shell) if each["type"] == TOPIC)
    assert (refreshed["id"], refreshed["outputs"]["partitions"]) == ("free.v1", 2)


def test_another_cluster_is_neither_destroyed_nor_read_into_the_state(stack: Deployment, cluster: Cluster) -> None:
    def elsewhere(resources: list[dict[str, Any]]) -> None:
        next(each for each in resources if each["type"] == SET_TYPE)["outputs"]["clusterId"] = "elsewhere"

    edited(stack, elsewhere)
    before = resources_in_state(stack.shell)
    for command in (["destroy", "--yes"], ["refresh"]):
        code, output = run(stack, *command)
        assert (code, "was deployed to cluster elsewhere" in output) == (2, True), output
    assert resources_in_state(stack.shell) == before
    assert live(cluster) == {*NAMES}
