"""Read the files that a broker stores next to its segments."""

from __future__ import annotations

from pathlib import Path


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
