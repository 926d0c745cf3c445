"""An import of a thousand topics, with a note about each and a hundred that are refused."""

from __future__ import annotations

from topicwarden.extensions.interchange.import_files import ImportReport
from topicwarden.model.problem import Level, Location, Problem

MANY = ImportReport(
    "prod",
    notes=tuple(
        Problem(Location(f"{'a' if n < 900 else 'b'}/topics.tf", n + 1, 1), f"t{n} has tags", "left-out", Level.WARNING)
        for n in range(1_000)
    ),
    refused={f"topic.{n:04}": "it has a replication throttle" for n in range(100)},
)
