"""The declared arrival of records (``contents.arrival``), and the periods of the calendar by which it counts them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from math import gcd
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import AfterValidator, BeforeValidator, Field

from topicwarden.model.field_types import Period, StrictModel, custom_error
from topicwarden.model.message_text import describe_value, did_you_mean
from topicwarden.model.timestamps import utc
from topicwarden.model.units import DURATION

DAY_MS: Final = 86_400_000
FIRST_TIME: Final = 946_771_200_000
"""2000-01-02 (ms). Periods before are not judged: the offsets of time zones were no multiples of minutes long ago."""

_UTC: Final = "UTC"
_YEARS: Final = range(2000, 2100)
_MONDAY: Final = date(1970, 1, 5).toordinal()


def _every(period: int) -> int:
    if period in (DAY_MS, 7 * DAY_MS) or (60_000 <= period < DAY_MS and DAY_MS % period == 0):
        return period
    raise custom_error(
        "value", f"expected a part of a day such as 1m, 15m or 6h, or 1d or 7d, got {DURATION.format(period)}"
    )


def _zone(value: Any) -> Any:
    try:
        return ZoneInfo(value).key
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        pass
    suggestion = did_you_mean(value, sorted(available_timezones())) if isinstance(value, str) else ""
    got = describe_value(value)
    raise custom_error("value", f"expected the name of a time zone (IANA) such as Europe/Berlin, got {got}{suggestion}")


class ArrivalContents(StrictModel):
    """The longest silence, and the number of records in a period."""

    max_silence: Period | None = Field(
        default=None, description="The longest time without a new record in the topic: 15m."
    )
    every: Annotated[Period, AfterValidator(_every)] | None = Field(
        default=None,
        description="The period that `min` and `max` count: a part of a day such as 15m or 6h, from 0:00 UTC on; 1d; "
        "or 7d, from Monday on.",
    )
    timezone: Annotated[str, BeforeValidator(_zone)] | None = Field(
        default=None, description="The time zone (IANA) in which days begin: Europe/Berlin. By default, UTC."
    )
    min: Annotated[int, Field(strict=True, ge=0)] | None = Field(
        default=None, description="The least number of records in a period."
    )
    max: Annotated[int, Field(strict=True, ge=0)] | None = Field(
        default=None, description="The largest number of records in a period."
    )

    @property
    def counts(self) -> bool:
        """True if the number of records in a period has a bound."""
        return self.every is not None and (self.min is not None or self.max is not None)

    @property
    def calendar(self) -> Calendar:
        """The periods; only if ``every`` is declared."""
        assert self.every is not None
        return Calendar(self.every, self.timezone or _UTC)


@dataclass(frozen=True)
class Calendar:
    """The periods of ``every`` milliseconds, or of whole days that begin at 0:00 in a time zone.

    A day at a change to or from daylight-saving time has 23 or 25 hours.
    """

    every: int
    timezone: str

    @cached_property
    def _zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    @cached_property
    def interval(self) -> int:
        """The length (ms) of intervals of UTC that divide each period."""
        if self.every < DAY_MS:
            return self.every
        days = (datetime(year, month, 1, tzinfo=self._zone) for year in _YEARS for month in range(1, 13))
        offsets = {round((day.utcoffset() or timedelta()).total_seconds()) * 1000 for day in days}
        return gcd(DAY_MS // 24, *offsets)

    def start(self, time: int) -> int:
        """Return the start of the period that contains ``time``; both in milliseconds."""
        if self.every < DAY_MS:
            return time - time % self.every
        return self._midnight(self._first_day(time))

    def end(self, start: int) -> int:
        """Return the end of the period with this start, which is the start of the next one."""
        if self.every < DAY_MS:
            return start + self.every
        day, end = self._first_day(start), start
        while end <= start:  # a zone may skip a whole day, as Samoa in 2011
            day += self.every // DAY_MS
            end = self._midnight(day)
        return end

    def text(self, start: int) -> str:
        """Return the period with this start as text: a day of the calendar, or a time in UTC."""
        return utc(start) if self.every < DAY_MS else date.fromordinal(self._first_day(start)).isoformat()

    def _first_day(self, time: int) -> int:
        """Return the ordinal of the first day of the period that contains ``time``."""
        day = datetime.fromtimestamp(time / 1000, self._zone).toordinal()
        return day - (day - _MONDAY) % (self.every // DAY_MS)

    def _midnight(self, day: int) -> int:
        return round(datetime.fromordinal(day).replace(tzinfo=self._zone).timestamp()) * 1000
