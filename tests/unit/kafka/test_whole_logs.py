"""Test which batches show that a log has lost nothing."""

from __future__ import annotations

from struct import pack
from typing import Any

import pytest

from topicwarden.kafka.read import record_batches


def batch(base: int, offsets: int, records: int | None = None, magic: int = 2) -> bytes:
    """Return a batch without its records: only its header is read."""
    rest = pack(">ibIhiqqqhii", 0, magic, 0, 0, offsets - 1, 0, 0, -1, -1, -1, offsets if records is None else records)
    return pack(">qi", base, len(rest)) + rest


def is_whole(monkeypatch: pytest.MonkeyPatch, batches: list[bytes], at_once: int, end: int) -> bool:
    def from_offset(admin: Any, partition: Any, leader: int, offset: int) -> bytes:
        later = [each for each in batches if int.from_bytes(each[:8], "big") >= offset]
        return b"".join(later[:at_once])

    monkeypatch.setattr(record_batches, "_batches_from", from_offset)
    admin: Any = None
    return record_batches.is_whole(admin, ("t", 0), 1, end)


@pytest.mark.parametrize("at_once", [1, 2, 9])
@pytest.mark.parametrize(
    ("batches", "whole"),
    [
        ([batch(0, 4), batch(4, 1), batch(5, 5)], True),  # the second one is a marker
        ([batch(0, 4), batch(5, 5)], False),
        ([batch(1, 9)], False),
        ([batch(0, 4), batch(4, 6, records=5)], False),  # the cleaner has removed a record
        ([batch(0, 4), batch(4, 6, records=0)], False),
        ([batch(0, 9)], False),
        ([batch(0, 10, magic=1)], False),
    ],
)
def test_a_log_is_whole_if_its_batches_have_every_offset(
    monkeypatch: pytest.MonkeyPatch, batches: list[bytes], at_once: int, *, whole: bool
) -> None:
    assert is_whole(monkeypatch, batches, at_once, 10) is whole


def test_more_bytes_than_the_limit_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [batch(0, 4), batch(4, 6)]
    monkeypatch.setattr(record_batches, "MOST_BYTES", len(batches[0]))
    assert is_whole(monkeypatch, batches, 2, 11) is False
    assert is_whole(monkeypatch, batches, 1, 4) is True
