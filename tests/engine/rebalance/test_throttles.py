"""Test throttle ownership: our throttles are always removed, and other throttles are reported but never changed."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.admin import ConfigResourceType
from kafka.structs import OffsetAndMetadata

from tests.engine.rebalance.conftest import BROKERS, Stack, until
from topicwarden.kafka.write.throttle_admin import MARK, ReplicaCopy
from topicwarden.kafka_facts.throttle_settings import RATES, REPLICAS

Deploy = Callable[[str, int], Stack]
BROKER, TOPIC = ConfigResourceType.BROKER, ConfigResourceType.TOPIC
ALL = [f"broker {number}" for number in range(1, BROKERS + 1)]


@contextmanager
def set_by_hand(stack: Stack, kind: ConfigResourceType, name: str | int, **settings: str) -> Iterator[None]:
    named = {key.replace("_", "."): value for key, value in settings.items()}
    stack.configure(kind, name, named)
    try:
        yield
    finally:
        stack.configure(kind, name, dict.fromkeys(named))


def test_the_files_of_a_killed_run_are_removed(stack_of: Deploy) -> None:
    stack = stack_of("left.v1", 1)
    stack.movable.throttle.apply({"left.v1": [ReplicaCopy(0, (1,), (2,))]}, [1, 2], 1000)
    assert stack.settings()[REPLICAS[0]] == f"0:1,{MARK}"
    done = stack.rebalance()
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "nothing to move: 1 topic as declared",
        "removed the replication throttle of an earlier run: brokers 1, 2; topics left.v1",
    ]
    assert stack.clean()


@pytest.mark.nightly("The suite keeps the rate in use by another tool.")
def test_a_throttle_rate_that_nothing_uses_is_kept_and_named(stack_of: Deploy) -> None:
    stack = stack_of("rates.v1", 1)
    command = "kafka-configs --bootstrap-server <server> --alter --entity-type brokers --entity-name 3 --delete-config"
    with set_by_hand(stack, BROKER, 3, **{RATES[0]: "1000", RATES[1]: "2000"}):
        for arguments in ([], ["--cancel"], ["--throttle", "unlimited"]):
            done = stack.rebalance(*arguments)
            assert done.returncode == 0, done.stderr
            rates = f"{RATES[1]}=2000, {RATES[0]}=1000: nothing uses it now"
            assert f"broker 3 keeps a replication throttle that topicwarden did not set, {rates}" in done.stdout
            assert command in done.stdout
        stack.declare(BROKERS)
        done = stack.rebalance("--yes")
        assert done.returncode == 2 and command in done.stderr
        assert not stack.movable.reassignment.ongoing()
        done = stack.rebalance("--yes", "--throttle", "unlimited")
        assert done.returncode == 0, done.stdout + done.stderr
        assert stack.throttles() == {"rates": ["broker 3"]}
    assert stack.clean()


def test_topics_that_do_not_exist_are_not_as_declared(stack_of: Deploy) -> None:
    stack = stack_of("there.v1", 1)
    stack.declare(1, topic="missing.v1")
    done = stack.rebalance()
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == [
        "1 topic not on the cluster, because no deploy has created it: missing.v1",
        "nothing to move: 1 topic as declared",
    ]


@pytest.mark.nightly("The suite keeps the rate in use by another tool.")
def test_a_throttle_list_of_another_tool_is_kept_and_named(stack_of: Deploy) -> None:
    stack = stack_of("foreign.v1", 1)
    command = "kafka-configs --bootstrap-server <server> --alter --entity-type topics --entity-name foreign.v1"
    for value in ("*", "0:1,1:2", f"0:1,{MARK}"):
        with set_by_hand(stack, TOPIC, "foreign.v1", **{REPLICAS[0]: value, REPLICAS[1]: "0:2"}):
            for arguments in ([], ["--cancel"]):
                done = stack.rebalance(*arguments)
                assert done.returncode == 0, done.stderr
                assert "foreign.v1 keeps a throttle list that topicwarden did not write" in done.stdout
                assert command in done.stdout
            stack.declare(2)
            done = stack.rebalance("--yes")
            assert done.returncode == 2
            assert "foreign.v1 has a throttle list that topicwarden did not write" in done.stderr
            assert command in done.stderr
            assert (stack.settings()[REPLICAS[0]], stack.settings()[REPLICAS[1]]) == (value, "0:2")
            assert not stack.movable.reassignment.ongoing()
            stack.declare(1)
    assert stack.clean()


def test_a_throttle_rate_in_use_by_another_tool_is_kept_and_named(stack_of: Deploy) -> None:
    stack = stack_of("shared.v1", 1)
    stack.declare(2)
    stack.configure(BROKER, 3, {RATES[0]: "1000"})
    for topic, value in (("shared.v1", "0:3"), ("__consumer_offsets", "0:3")):
        if topic == "__consumer_offsets":
            create_offsets_topic(stack)
        with set_by_hand(stack, TOPIC, topic, **{REPLICAS[0]: value}):
            done = stack.rebalance("--cancel")
            assert done.returncode == 0, done.stderr
            assert (
                f"broker 3 keeps a replication throttle that topicwarden did not set, {RATES[0]}=1000: "
                f"the throttle list of {topic} names it" in done.stdout
            )
            done = stack.rebalance("--yes")
            assert done.returncode == 2, done.stdout
            assert stack.throttles() == {"rates": ["broker 3"], "lists": [topic]}
    stack.configure(BROKER, 3, {RATES[0]: None})
    done = stack.rebalance("--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert stack.clean()


def create_offsets_topic(stack: Stack) -> None:
    """Create the offsets topic: brokers create it on a group's first commit."""
    partition = TopicPartition(stack.topic, 0)
    with KafkaConsumer(bootstrap_servers=stack.servers, group_id="throttles") as consumer:
        consumer.assign([partition])
        consumer.commit({partition: OffsetAndMetadata(0, "", -1)})


@pytest.mark.nightly("The suite keeps the throttles of other tools.")
def test_a_deploy_during_a_move_leaves_it_throttled(stack_of: Deploy) -> None:
    stack = stack_of("deployed.v1", 1)
    stack.fill(12)
    contents = stack.contents()
    stack.declare(3)
    moving = stack.rebalancing("--throttle", "10kB")
    until(stack.movable.reassignment.ongoing)
    moving.send_signal(signal.SIGTERM)
    moving.communicate(timeout=30)
    lists = {name: stack.settings()[name] for name in REPLICAS}
    assert all(value.endswith(MARK) for value in lists.values())

    def throttled() -> bool:
        assert stack.movable.reassignment.ongoing(), "it is over too soon"
        return ({name: stack.settings().get(name) for name in REPLICAS}, stack.throttles()["rates"]) == (lists, ALL)

    live = stack.movable.cluster.snapshot(extents=False).topics[stack.topic]
    moving_partitions = [state for state in live.replicas if state.adding]
    assert moving_partitions
    assert all((len(state.settled), len(state.replicas)) == (1, 3) for state in moving_partitions)
    stack.up()
    assert throttled(), "up"
    stack.up("--refresh")
    assert throttled(), "up --refresh, as the CI templates deploy"
    stack.declare(3, more="config: {retention.ms: 30d}")
    stack.up()
    assert throttled(), "up with a change"
    preview = stack.pulumi("preview", "--expect-no-changes", "--refresh")
    assert preview.returncode == 0, preview.stdout
    stack.configure(TOPIC, stack.topic, {"retention.ms": str(20 * 86_400_000)})
    stack.up("--refresh")
    assert throttled(), "up --refresh with a change made by hand"
    stack.up()
    assert throttled(), "up that puts a change made by hand back"
    assert stack.settings()["retention.ms"] == str(30 * 86_400_000)

    done = stack.rebalance("--yes", "--throttle", "50MiB")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {len(brokers) for brokers in stack.replicas().values()} == {3}
    assert stack.clean()
    assert stack.contents() == contents
    preview = stack.pulumi("preview", "--expect-no-changes", "--refresh")
    assert preview.returncode == 0, preview.stdout
