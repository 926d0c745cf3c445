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


def minute(timestamp: int) -> str:
    """Return milliseconds since the epoch as ``2026-01-31 12:00``, in UTC; see ``utc`` for times without a date."""
    day, separator, clock = utc(timestamp).partition("T")
    return f"{day} {clock[:5]}" if separator else day


def between(after: int | None, until: int) -> str:
    """Return ``between 2026-01-30 12:00 and 2026-01-31 12:00 UTC``.

    It is ``at …`` if both times show the same minute, and ``before …`` without ``after``.
    """
    if after is None:
        return f"before {minute(until)} UTC"
    start, end = minute(after), minute(until)
    return f"at {end} UTC" if start == end else f"between {start} and {end} UTC"


def today() -> date:
    """Return today's date in UTC, so that everyone who checks one pull request gets the same result."""
    return datetime.now(UTC).date()
