"""Exact ranges of offsets, packed into tasks of about the same work, and read from Kafka by our source."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import chain

from pyspark.sql import DataFrame, SparkSession

from topicwarden.audit.contracts import NO_CONTRACTS, Contracts
from topicwarden.audit.reader import FORMAT
from topicwarden.kafka.connection import Connection

MOST_OFFSETS = 1_000_000
"""Of one task: short enough for progress, long enough to be worth a consumer."""

_FAIR = 1.5
"""A range that is to stay whole is cut where it is larger than so many times a core's share of all offsets."""

READ_OPTIONS = {
    "isolation.level": "read_uncommitted",
    "fetch.max.wait.ms": "10",  # all that is read is there: where a log ends, nothing is worth waiting for
    # Larger polls leave the processor's cache before they are counted; larger fetches are no faster (benchmarks/).
    "max.poll.records": "1000",
    "max.partition.fetch.bytes": str(2 * 1024 * 1024),
    "fetch.max.bytes": str(16 * 1024 * 1024),
}


COMMITTED = {"isolation.level": "read_committed"}
"""Changes ``READ_OPTIONS``: no records of aborted transactions, and none from the first open one on."""


@dataclass(frozen=True)
class Range:
    """Offsets ``[start, end)`` of a partition; ``part`` is the number by which its records are known in Spark."""

    part: int
    topic: str
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        """How many offsets it has; no more records than these."""
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.part}:{self.topic}:{self.partition}:{self.start}:{self.end}"


def read(
    spark: SparkSession,
    connection: Connection,
    tasks: list[list[Range]],
    consumer: Mapping[str, str] | None = None,
    contracts: Contracts = NO_CONTRACTS,
    *,
    rate: int | None = None,
    counted: str | None = None,
    counting: str = "",
) -> DataFrame:
    """The records of the ranges in ``tasks``: ``part``, ``offset``, ``time`` (ms), ``key`` and ``value`` as bytes.

    With ``counted`` what was counted of them: ``groups`` (``source/GroupReader.java``) or ``totals``
    (``source/TotalsReader.java``), as ``counting`` says (``counting/CountingRules.java``).

    The other columns are the reader's (``source/OffsetRangeSource.java``), by ``contracts``; what is not selected costs
    nothing. ``consumer`` changes ``READ_OPTIONS``; ``rate`` bounds the bytes a second of all tasks that run at once.
    """
    at_once = max(1, min(len(tasks), spark.sparkContext.defaultParallelism))
    pace = None if rate is None else max(1, rate // at_once)
    settings = {**connection.for_java(), **READ_OPTIONS, **(_small(pace) if pace else {}), **(consumer or {})}
    options = {f"kafka.{name}": value for name, value in settings.items()}
    return (
        spark.read.format(FORMAT)
        .options(**options, **contracts.options())
        .option("rate", pace or 0)
        .options(**({"counted": counted, "counting": counting} if counted else {}))
        .option("tasks", "\n".join(" ".join(map(str, task)) for task in tasks))
        .load()
    )


def _small(pace: int) -> dict[str, str]:
    """Fetches and polls of about a second's worth, so that a bound on bytes a second is kept to from the start."""
    size = str(min(2 * 1024 * 1024, max(64 * 1024, pace)))
    return {"max.poll.records": "500", "max.partition.fetch.bytes": size, "fetch.max.bytes": size}


def pack(spark: SparkSession, ranges: Iterable[Range], whole: Collection[int] = frozenset()) -> list[list[Range]]:
    """Tasks of about as many offsets each: the largest range first, always into the emptiest task.

    A large range is cut; small ones share a task, and so a consumer. Every core gets a task, if there
    are as many ranges. The parts in ``whole`` are cut only where one core would have too much to do.
    """
    cores, held = spark.sparkContext.defaultParallelism, list(ranges)
    total = sum(one.size for one in held)
    share = max(MOST_OFFSETS, -(-total // cores))
    cut = (_cut(one, share, _FAIR * share) if one.part in whole else _cut(one, MOST_OFFSETS) for one in held)
    pieces = sorted(chain.from_iterable(cut), key=lambda piece: -piece.size)
    tasks: list[list[Range]] = [[] for _ in range(min(len(pieces), max(cores, -(-total // MOST_OFFSETS))))]
    loads = [(0, number) for number in range(len(tasks))]
    for piece in pieces:
        load, number = heappop(loads)
        tasks[number].append(piece)
        heappush(loads, (load + piece.size, number))
    return tasks


def _cut(one: Range, size: int, most: float = 0) -> Iterable[Range]:
    """Pieces of ``size`` offsets; the whole where it has no more than ``most``."""
    if one.size <= most:
        return [one]
    return [replace(one, start=start, end=min(one.end, start + size)) for start in range(one.start, one.end, size)]
