"""A compacted topic as a cache: eleven records of one key, and the reason why a consumer sees more than one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from hashlib import sha256

from topicwarden.extensions.sandbox.scenarios.writer import writing

TOPIC = "cache"
KEY = "user-1"
BEFORE_PAUSE = 6
RECORDS = 11
_PAUSE_S = 1.5


def _settings(number: int) -> str:
    """Return version ``number`` of a user's settings. The versions differ so much that they do not compress well."""
    return f"setting {number} " + "".join(sha256(f"{number} {part}".encode()).hexdigest() for part in range(6))


def fill(servers: Sequence[str]) -> None:
    """Write six records, each in its own segment; after a pause that rolls the segment, write five more at once."""
    with writing(servers) as writer:
        for number in range(BEFORE_PAUSE):
            writer.send(TOPIC, KEY, _settings(number))
            writer.flush()
            time.sleep(0.15)
        time.sleep(_PAUSE_S)
        for number in range(BEFORE_PAUSE, RECORDS):
            writer.send(TOPIC, KEY, _settings(number))


def append(servers: Sequence[str]) -> None:
    """Write one more record of the key, late enough to roll the segment."""
    time.sleep(_PAUSE_S)
    with writing(servers) as writer:
        writer.send(TOPIC, KEY, _settings(RECORDS))
