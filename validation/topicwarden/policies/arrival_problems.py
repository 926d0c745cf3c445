"""Problems in ``contents.arrival`` of several settings together."""

from __future__ import annotations

from collections.abc import Iterator

from topicwarden.model.arrival import DAY_MS, ArrivalContents


def arrival_messages(arrival: ArrivalContents) -> Iterator[tuple[str, str]]:
    """Yield a setting and its problem."""
    bounds = [name for name in ("min", "max") if getattr(arrival, name) is not None]
    if bounds and arrival.every is None:
        yield bounds[0], f"{bounds[0]} counts the records of a period; write every: 1d"
    if arrival.every is not None and not bounds:
        yield "every", "every needs the number of records in a period; write min or max, or delete it"
    if arrival.min is not None and arrival.max is not None and arrival.min > arrival.max:
        yield "min", f"expected at most max of {arrival.max:,}, got {arrival.min:,}"
    if arrival.timezone and (arrival.every or 0) < DAY_MS:
        yield (
            "timezone",
            "timezone says when days begin, and shorter periods begin in UTC; write every: 1d, or delete it",
        )
