"""Kafka timestamps as text, and today's date in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime


def utc(timestamp: int) -> str:
    """Return milliseconds since the epoch as ``2026-01-31T12:00:00Z``; as ``… ms`` if no date can express them."""
    try:
        time = datetime.fromtimestamp(timestamp / 1000, UTC)
    except (OverflowError, ValueError, OSError):  # microseconds from a producer give a year after 9999
        return f"{timestamp} ms"
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")


def today() -> date:
    """Return today's date in UTC, so that everyone who checks one pull request gets the same result."""
    return datetime.now(UTC).date()
