"""Test the periods by which the arrival of records is counted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from topicwarden.model.arrival import DAY_MS, Calendar

HOUR = 3_600_000


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("every", "zone", "time", "start", "hours"),
    [
        (DAY_MS, "UTC", "2026-10-25T23:59", "2026-10-25T00:00", 24),
        (DAY_MS, "Europe/Berlin", "2026-10-25T12:00", "2026-10-24T22:00", 25),
        (DAY_MS, "Europe/Berlin", "2026-10-25T22:59", "2026-10-24T22:00", 25),
        (DAY_MS, "Europe/Berlin", "2026-10-25T23:00", "2026-10-25T23:00", 24),
        (DAY_MS, "Europe/Berlin", "2026-03-29T12:00", "2026-03-28T23:00", 23),
        (DAY_MS, "Asia/Kathmandu", "2026-03-29T00:00", "2026-03-28T18:15", 24),
        (DAY_MS, "Asia/Beirut", "2026-03-28T23:00", "2026-03-28T22:00", 23),  # there is no 0:00 on this day
        (DAY_MS, "Pacific/Apia", "2011-12-30T03:00", "2011-12-29T10:00", 24),  # the next day is the 31st
        (7 * DAY_MS, "Europe/Berlin", "2026-10-25T12:00", "2026-10-18T22:00", 169),
        (6 * HOUR, "UTC", "2026-10-25T12:00", "2026-10-25T12:00", 6),
        (HOUR // 4, "UTC", "2026-10-25T12:14", "2026-10-25T12:00", 0.25),
    ],
)
def test_a_period_begins_at_midnight_of_the_zone(every: int, zone: str, time: str, start: str, hours: float) -> None:
    calendar = Calendar(every, zone)
    found = calendar.start(ms(time))
    assert (found, calendar.end(found) - found) == (ms(start), hours * HOUR)
    assert found % calendar.interval == calendar.end(found) % calendar.interval == 0
    assert calendar.start(calendar.end(found)) == calendar.end(found)


@pytest.mark.parametrize(
    ("zone", "minutes"),
    [("UTC", 60), ("Europe/Berlin", 60), ("Asia/Kolkata", 30), ("Asia/Kathmandu", 15), ("Australia/Lord_Howe", 30)],
)
def test_intervals_divide_each_day_of_the_zone(zone: str, minutes: int) -> None:
    assert Calendar(DAY_MS, zone).interval == minutes * 60_000


def test_a_period_is_named_by_its_day_or_its_time() -> None:
    day, part = Calendar(DAY_MS, "Europe/Berlin"), Calendar(HOUR, "UTC")
    assert day.text(day.start(ms("2026-10-25T12:00"))) == "2026-10-25"
    assert part.text(ms("2026-10-25T12:00")) == "2026-10-25T12:00:00Z"
