"""Five partitions, two replicas, three brokers: what goes on and what stops when one broker is lost."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kafka.errors import KafkaError

from topicwarden.model.problem import Refusal
from topicwarden.sandbox.scenarios.cluster_settings import connected
from topicwarden.sandbox.scenarios.writer import writing

TOPIC = "my_topic"
PARTITIONS = 5
RECORDS = 20
"""In each partition, each of a key of its own."""

_TIMEOUT_S = 40.0


def fill(servers: Sequence[str]) -> None:
    """A few records in every partition; the same keys each time."""
    with writing(servers) as writer:
        for number in range(PARTITIONS * RECORDS):
            writer.send(TOPIC, f"key-{number}", f"value {number}", partition=number % PARTITIONS)


def wait_until_noticed(servers: Sequence[str], broker: int) -> None:
    """Waits until the controller has taken a lost ``broker`` out of every partition's in-sync replicas."""
    deadline = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            with connected(servers) as admin:
                (topic,) = admin.describe_topics([TOPIC])
        except KafkaError:  # the client asked the lost broker
            continue
        if all(broker not in state["isr_nodes"] and state["leader_id"] >= 0 for state in topic["partitions"]):
            return
        time.sleep(0.3)
    raise Refusal(f"the controller did not notice within {_TIMEOUT_S:g} s that broker {broker} is gone")


def refused_writes(servers: Sequence[str]) -> list[int]:
    """Tries one record with ``acks=all`` in every partition; those that refused it, as too few replicas are in sync."""
    refused = []
    for partition in range(PARTITIONS):
        with writing(servers, refusals_expected=True, timeout_s=2) as writer:
            writer.send(TOPIC, f"late-{partition}", "written while a broker is gone", partition=partition)
            writer.flush()
            if writer.errors:
                refused.append(partition)
    return refused
