"""A compacted cache, and the log cleaner that compacts it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.write.config_admin import set_brokers
from topicwarden.model.problem import Refusal

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


_SETTING = "log.cleaner.backoff.ms"
_PAUSED_MS, _FAST_MS, _KAFKA_DEFAULT_MS = 3_600_000, 500, 15_000
_STABLE_S, _TIMEOUT_S = 3.0, 90.0

Progress = dict[tuple[int, int], tuple[int, int]]
"""By broker and partition: the offset up to which it is cleaned, and the base offset of the active segment."""


def pause(servers: Sequence[str]) -> None:
    """Let the log cleaners wait for an hour before the next run."""
    set_brokers(servers, {_SETTING: str(_PAUSED_MS)})


def speed_up(servers: Sequence[str]) -> None:
    """Let the log cleaners run twice a second."""
    set_brokers(servers, {_SETTING: str(_FAST_MS)})


def restore_default(servers: Sequence[str]) -> None:
    """Let the log cleaners run in Kafka's default interval."""
    set_brokers(servers, {_SETTING: str(_KAFKA_DEFAULT_MS)})


def wait_until_clean(sandbox: Sandbox, topic: str) -> None:
    """Wait until every replica is cleaned up to its active segment.

    Also return if every replica was cleaned in part and nothing changes for 3 s: the cleaner leaves a log with few
    dirty records. Raises Refusal if a replica is not cleaned at all within 90 s.
    """
    deadline, previous, changed_at = time.monotonic() + _TIMEOUT_S, Progress(), time.monotonic()
    while time.monotonic() < deadline:
        progress = _progress(sandbox, topic)
        if progress != previous:
            previous, changed_at = progress, time.monotonic()
        started = all(cleaned > 0 for cleaned, _ in progress.values())
        done = all(cleaned >= active for cleaned, active in progress.values())
        if progress and (done or (started and time.monotonic() - changed_at > _STABLE_S)):
            return
        time.sleep(0.2)
    raise Refusal(
        f"the sandbox's log cleaner has not cleaned {topic} within {_TIMEOUT_S:g} s; "
        "see server.log in the folders of the brokers"
    )


def _progress(sandbox: Sandbox, topic: str) -> Progress:
    progress = Progress()
    for broker in sandbox.status().brokers:
        log_dir = sandbox.log_dir(broker.id)
        checkpoint = cleaner_checkpoint(log_dir)
        for partition in (int(path.name.rpartition("-")[2]) for path in log_dir.glob(f"{topic}-[0-9]*")):
            if bases := segments(log_dir, topic, partition):
                progress[broker.id, partition] = (checkpoint.get((topic, partition), 0), bases[-1])
    return progress


def cleaner_checkpoint(log_dir: Path) -> dict[tuple[str, int], int]:
    """Return the offset up to which the log cleaner has compacted each topic and partition.

    Empty before the first cleaning. Source: ``cleaner-offset-checkpoint``.
    """
    return checkpoint(log_dir / "cleaner-offset-checkpoint")


def segments(log_dir: Path, topic: str, partition: int) -> list[int]:
    """Return the base offsets of a partition's segments, ascending; the last is the active segment.

    Empty if the broker has no replica. Segments that wait for deletion (``.deleted``) do not count.
    """
    return sorted(int(path.stem) for path in (log_dir / f"{topic}-{partition}").glob("*.log"))


def checkpoint(path: Path) -> dict[tuple[str, int], int]:
    """Return the offset of each topic and partition in a checkpoint file; empty if the file does not exist.

    Source: ``CheckpointFile``: a version, a count, then one partition per line. Topic names have no spaces.
    """
    lines = path.read_text(encoding="utf-8").splitlines()[2:] if path.is_file() else []
    entries = (line.split() for line in lines if line)
    return {(topic, int(partition)): int(offset) for topic, partition, offset in entries}
