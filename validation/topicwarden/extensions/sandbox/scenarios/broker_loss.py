"""The loss of one broker of three, for a topic with five partitions and two replicas each."""

from __future__ import annotations

import time
from collections.abc import Sequence

from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.write.config_admin import in_sync_replicas
from topicwarden.model.problem import Refusal

TOPIC = "my_topic"
PARTITIONS = 5
RECORDS = 20
"""The number of records in each partition. Each record has its own key."""

_TIMEOUT_S = 40.0


def fill(servers: Sequence[str]) -> None:
    """Write ``RECORDS`` records to every partition, with the same keys in each call."""
    with writing(servers) as writer:
        for number in range(PARTITIONS * RECORDS):
            writer.send(TOPIC, f"key-{number}", f"value {number}", partition=number % PARTITIONS)


def wait_until_noticed(servers: Sequence[str], broker: int) -> None:
    """Wait until the controller has removed the lost ``broker`` from the in-sync replicas of every partition."""
    deadline = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline:
        partitions = in_sync_replicas(servers, TOPIC)
        if partitions is None:  # the client sent the request to the lost broker
            continue
        if all(broker not in replicas and leader >= 0 for leader, replicas in partitions):
            return
        time.sleep(0.3)
    raise Refusal(f"the controller did not notice within {_TIMEOUT_S:g} s that broker {broker} is gone")


def refused_writes(servers: Sequence[str]) -> list[int]:
    """Write one record with ``acks=all`` to every partition; return the partitions that refuse it.

    Partitions refuse the record if too few replicas are in sync.
    """
    refused = []
    for partition in range(PARTITIONS):
        with writing(servers, refusals_expected=True, timeout_s=2) as writer:
            writer.send(TOPIC, f"late-{partition}", "written while a broker is gone", partition=partition)
            writer.flush()
            if writer.errors:
                refused.append(partition)
    return refused
