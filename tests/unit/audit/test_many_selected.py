"""Test that a topic is not compared with each of many patterns."""

from __future__ import annotations

import time

from tests.support.growth import MOST, growth
from topicwarden.audit.request import AuditRequest
from topicwarden.kafka.connect.connection import Connection


def seconds(number: int) -> float:
    """Return the CPU time to select this many topics by their names."""
    names = tuple(f"t{each}" for each in range(number))
    request = AuditRequest("dev", Connection(("k:9092",)), (), names)
    started = time.process_time()
    assert all(map(request.selects, names))
    assert not request.selects("t")
    return time.process_time() - started


def test_four_times_as_many_topics_take_about_four_times_as_long() -> None:
    assert growth(seconds, 300) < MOST
