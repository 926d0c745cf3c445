"""A new producer of flights, which nobody has declared, forgets the destination of one flight."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from topicwarden.extensions.sandbox.scenarios import flights
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.write.config_admin import create_topic, delete_topic

TOPIC: Final = "flights.live"
RECORDS: Final = 5_000
FAULT: Final = 4_321
"""The number of the flight without a destination."""
SETTINGS: Final = {"cleanup.policy": "delete", "min.insync.replicas": "2", "retention.ms": str(7305 * 86_400_000)}
_PARTITIONS, _REPLICAS = 4, 3


@contextmanager
def producing(servers: Sequence[str]) -> Iterator[None]:
    """Create the topic, and write its flights; delete the topic at the end of the block.

    Raises Refusal if a record is not accepted.
    """
    delete_topic(servers, TOPIC)  # of a demo that was stopped
    create_topic(servers, TOPIC, _PARTITIONS, _REPLICAS, SETTINGS)
    try:
        _fill(servers)
        yield
    finally:
        delete_topic(servers, TOPIC)


def _fill(servers: Sequence[str]) -> None:
    with writing(servers) as writer:
        for number, (plane, time, flight) in enumerate(flights.read_first(RECORDS)):
            writer.send(TOPIC, plane, _without_destination(flight) if number == FAULT else flight, time)


def _without_destination(flight: str) -> str:
    return json.dumps({name: value for name, value in json.loads(flight).items() if name != "dest"})
