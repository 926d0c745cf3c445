"""Test the data of the demo's chapter on contracts, without a cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from topicwarden.extensions.sandbox.scenarios import flights, new_producer


class _Writer:
    def __init__(self) -> None:
        self.flights: list[dict[str, Any]] = []

    def send(self, topic: str, key: str | None, value: str, timestamp: int) -> None:
        assert topic == new_producer.TOPIC
        self.flights.append(json.loads(value))


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record what happens to the topic of the new producer, in order."""
    done: list[str] = []
    monkeypatch.setattr(new_producer, "create_topic", lambda *_: done.append("create"))
    monkeypatch.setattr(new_producer, "delete_topic", lambda *_: done.append("delete"))
    return done


def test_the_new_producer_forgets_the_destination_of_exactly_one_flight(
    steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = _Writer()

    @contextmanager
    def writing(servers: list[str]) -> Iterator[_Writer]:
        yield writer

    monkeypatch.setattr(new_producer, "writing", writing)
    with new_producer.producing(["localhost:1"]):
        assert steps == ["delete", "create"]
    assert steps == ["delete", "create", "delete"]
    assert len(writer.flights) == new_producer.RECORDS
    without = [number for number, flight in enumerate(writer.flights) if "dest" not in flight]
    assert without == [new_producer.FAULT]
    ((_, _, first),) = flights.read_first(1)
    assert {frozenset({*flight, "dest"}) for flight in writer.flights} == {frozenset(json.loads(first))}


def test_the_topic_is_deleted_if_a_record_is_not_accepted(steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(servers: list[str]) -> None:
        raise OSError

    monkeypatch.setattr(new_producer, "writing", refuse)
    with pytest.raises(OSError), new_producer.producing(["localhost:1"]):
        pass
    assert steps == ["delete", "create", "delete"]
