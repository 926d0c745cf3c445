"""Test that `topicwarden rebalance` removes replicas only if the YAML allows `reduce-replicas`.

The command must report the loss of durability.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.engine.rebalance.conftest import BROKERS, Stack, until
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.write.throttle_admin import ReplicaCopy

Deploy = Callable[[str, int], Stack]
BEFORE = "now reading survives 2 lost brokers, writing 2 lost brokers, on 3 racks"
AFTER = "then reading survives 1 lost broker, writing 1 lost broker, on 2 racks"


def test_replicas_are_dropped_only_if_the_yaml_allows_it(stack_of: Deploy) -> None:
    stack = stack_of("reduced.v1", 3)
    stack.declare(1, topic="other.v1")
    stack.up()
    before = stack.replicas()
    stack.declare(2)
    stack.declare(2, topic="other.v1")
    expired = "allow: [{change: reduce-replicas, until: 2020-01-01}]"
    for more in ("", "allow: [delete, recreate, shrink-retention]", expired):
        stack.declare(2, more=more)
        for arguments in (["--dry-run"], ["--yes"]) if not more else (["--yes", "--no-refresh"],):
            done = stack.rebalance(*arguments)
            assert done.returncode == 1, done.stdout + done.stderr
            assert done.stdout.startswith(
                "topics/moved/reduced.v1.yaml:1:37: reduced.v1: replication factor 3 to 2 drops replicas of "
                f"6 partitions; {BEFORE}; {AFTER}. Keep the replicas; if the loss is intended, write "
                "`allow: [{change: reduce-replicas, until: DATE}]` into the topic's YAML [replication-factor]\n"
            )
            assert stack.replicas() == before
            assert "nothing to move" not in done.stdout
    assert {len(brokers) for brokers in stack.replicas("other.v1").values()} == {2}, "the other topic's moves go on"

    stack.declare(2, more="allow: [reduce-replicas]")
    done = stack.rebalance("--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    output = f"reduced.v1: replication factor 3 to 2 drops replicas of 6 partitions; {BEFORE}; {AFTER}\n"
    assert done.stdout.startswith(output)
    assert {len(brokers) for brokers in stack.replicas().values()} == {2}
    assert stack.clean()


def test_a_reduction_in_progress_is_reported_and_can_be_cancelled(stack_of: Deploy) -> None:
    """Another user's reassignment reduces the replicas.

    The edited YAML declares the lower number of replicas, but does not allow the reduction.
    """
    stack = stack_of("lowering.v1", 2)
    stack.fill(12)
    before = stack.replicas()
    spare = {number: min({*range(1, BROKERS + 1)} - {*brokers}) for number, brokers in before.items()}
    copies = [ReplicaCopy(number, brokers, (spare[number],)) for number, brokers in before.items()]
    stack.movable.throttle.apply({stack.topic: copies}, range(1, BROKERS + 1), 1000)
    assert stack.movable.reassignment.start({(stack.topic, n): (broker,) for n, broker in spare.items()}) == {}
    try:
        stack.declare(1)
        done = stack.rebalance("--dry-run")
        assert done.returncode == 1
        assert "lowering.v1: replication factor 2 to 1 drops replicas of 6 partitions; now reading" in done.stdout
        assert "a reassignment in progress already drops them, `topicwarden rebalance --cancel`" in done.stdout
        done = stack.rebalance("--cancel")
        assert (done.returncode, "cancelled: 6 partitions" in done.stdout) == (0, True), done.stdout + done.stderr
        assert {n: {*brokers} for n, brokers in stack.replicas().items()} == {n: {*b} for n, b in before.items()}
        assert stack.clean()
    finally:
        stack.movable.throttle.remove([stack.topic], range(1, BROKERS + 1))


def test_the_last_in_sync_replica_stays(stack_of: Deploy, sandbox: Sandbox) -> None:
    """One of two replicas is offline and out of sync. That replica is removed, and no record is lost."""
    stack = stack_of("lagging.v1", 2)
    victim = stack.replicas()[0][0]
    sandbox.kill(victim)
    try:
        until(lambda: not stack.movable.reassignment.brokers().get(victim))
        stack.fill(4)
        contents = stack.contents()
        stack.declare(1, more="allow: [reduce-replicas]")
        done = stack.rebalance("--yes")
        assert done.returncode in (0, 1), done.stdout + done.stderr
        assert victim not in {broker for brokers in stack.replicas().values() for broker in brokers}
        assert stack.contents() == contents
    finally:
        sandbox.start(victim)
    assert stack.contents() == contents


@pytest.mark.nightly("The suite keeps the units of this rule, and real reductions.")
def test_a_replica_swap_in_progress_is_no_reduction(stack_of: Deploy) -> None:
    """During a reassignment, the metadata lists the old and the new brokers: four, where two are declared."""
    stack = stack_of("swapped.v1", 2)
    stack.fill(12)
    after = {n: tuple({*range(1, BROKERS + 1)} - {*brokers}) for n, brokers in stack.replicas().items()}
    copies = [ReplicaCopy(number, brokers, after[number]) for number, brokers in stack.replicas().items()]
    stack.movable.throttle.apply({stack.topic: copies}, range(1, BROKERS + 1), 1000)
    assert stack.movable.reassignment.start({(stack.topic, n): brokers for n, brokers in after.items()}) == {}
    until(lambda: {len(brokers) for brokers in stack.replicas().values()} == {4})
    try:
        planned = stack.shell.in_process("plan", "--stack", "dev")
        assert planned.returncode == 0, planned.stdout + planned.stderr
        assert "reduce-replicas" not in planned.stdout
        stack.up("--refresh")
        shown = stack.rebalance("--dry-run")
        assert shown.returncode == 0, shown.stderr
        first, throttle = shown.stdout.splitlines()
        assert first == "already in progress: 6 partitions"
        assert throttle.startswith("throttle: ") and "as an earlier run set it" in throttle
    finally:
        done = stack.rebalance("--cancel")
    assert done.returncode == 0, done.stdout + done.stderr
    assert stack.clean()
