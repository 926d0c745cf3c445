"""A compacted topic as a cache: eleven records of one key, and why a late reader sees more than one."""

from __future__ import annotations

import time
from collections.abc import Sequence

from topicwarden.sandbox.stories.writer import writing

TOPIC = "cache"
KEY = "user-1"
BEFORE_PAUSE = 6
RECORDS = 11
_PAUSE_S = 1.5


def fill(servers: Sequence[str]) -> None:
    """Six records each in a segment of its own, a pause that proves their segments rolled, five more at once."""
    with writing(servers) as writer:
        for number in range(BEFORE_PAUSE):
            writer.send(TOPIC, KEY, f"setting {number}")
            writer.flush()
            time.sleep(0.15)
        time.sleep(_PAUSE_S)
        for number in range(BEFORE_PAUSE, RECORDS):
            writer.send(TOPIC, KEY, f"setting {number}")


def append(servers: Sequence[str]) -> None:
    """One more record of the key, late enough to roll the segment."""
    time.sleep(_PAUSE_S)
    with writing(servers) as writer:
        writer.send(TOPIC, KEY, f"setting {RECORDS}")
