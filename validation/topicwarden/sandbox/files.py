"""What a broker's own files say: the oracle that tests hold an audit against. No command reads them."""

from __future__ import annotations

from pathlib import Path


def cleaner_checkpoint(log_dir: Path) -> dict[tuple[str, int], int]:
    """By topic and partition, the offset up to which the cleaner has compacted.

    Source: ``cleaner-offset-checkpoint`` (``CheckpointFile``: a version, a count, one partition a line). Empty
    before the first cleaning. Topic names hold no blanks.
    """
    path = log_dir / "cleaner-offset-checkpoint"
    lines = path.read_text(encoding="utf-8").splitlines()[2:] if path.is_file() else []
    entries = (line.split() for line in lines if line)
    return {(topic, int(partition)): int(offset) for topic, partition, offset in entries}


def segments(log_dir: Path, topic: str, partition: int) -> list[int]:
    """The base offsets of a partition's segments, ascending; the last one is the active segment's.

    Empty where the broker has no replica. Segments that await their deletion (``.deleted``) do not count.
    """
    return sorted(int(path.stem) for path in (log_dir / f"{topic}-{partition}").glob("*.log"))
