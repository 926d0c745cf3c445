"""Kafka's timestamps, for people."""

from __future__ import annotations

from datetime import datetime, timezone


def utc(timestamp: int) -> str:
    """Milliseconds since the epoch as ``2026-01-31T12:00:00Z``; as they are where no calendar reaches."""
    try:
        moment = datetime.fromtimestamp(timestamp / 1000, timezone.utc)
    except (OverflowError, ValueError, OSError):  # a producer's wrong unit lies beyond the year 9999
        return f"{timestamp} ms"
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
