"""Kafka's timestamps, for people, and the day it is."""

from __future__ import annotations

from datetime import UTC, date, datetime


def utc(timestamp: int) -> str:
    """Milliseconds since the epoch as ``2026-01-31T12:00:00Z``; as they are where no calendar reaches."""
    try:
        moment = datetime.fromtimestamp(timestamp / 1000, UTC)
    except (OverflowError, ValueError, OSError):  # a producer's wrong unit lies beyond the year 9999
        return f"{timestamp} ms"
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def today() -> date:
    """The day it is in UTC, the same for everyone who looks at one pull request."""
    return datetime.now(UTC).date()
