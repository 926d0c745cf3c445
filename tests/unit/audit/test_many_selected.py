"""Test that a topic is not compared with each of many patterns."""

from __future__ import annotations

import time

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
    few = min(seconds(300) for _ in range(3))
    many = min(seconds(1_200) for _ in range(2))
    assert many < 8 * few, f"{few:.4f} and {many:.4f} s; the square would be 16 times as long"
