"""Read exact offset ranges from Kafka with our Spark source, in tasks of about equal size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import chain
from typing import TYPE_CHECKING

from topicwarden.audit.scan.contracts import NO_CONTRACTS, Contracts
from topicwarden.kafka.connect.connection import Connection

if TYPE_CHECKING:  # a plan reads records without PySpark, which takes a second to import
    from pyspark.sql import DataFrame, SparkSession

FORMAT = "io.topicwarden.reader.source.OffsetRangeSource"
"""The name of the data source for ``spark.read.format``."""

MOST_OFFSETS = 1_000_000
"""The most offsets of one task: few enough to show progress, enough to be worth starting a consumer."""

_MOST_SHARES = 1.5
"""A range that should stay whole is cut if it is larger than this multiple of a core's share of all offsets."""

READ_OPTIONS = {
    "isolation.level": "read_uncommitted",
    "fetch.max.wait.ms": "10",  # no range extends beyond the end of a log, so a fetch never waits for new records
    # Records of larger polls leave the CPU cache before they are counted; larger fetches are no faster (benchmarks/).
    "max.poll.records": "1000",
    "max.partition.fetch.bytes": str(2 * 1024 * 1024),
    "fetch.max.bytes": str(16 * 1024 * 1024),
}

READ_COMMITTED = {"isolation.level": "read_committed"}
"""Overrides ``READ_OPTIONS``: no records of aborted transactions, and none from the first open transaction on."""

NEAR = 1_000
"""Offsets that are closer than this are read as one range."""


@dataclass(frozen=True)
class OffsetRange:
    """Offsets ``[start, end)`` of a partition; ``part`` is the partition's number in the scan."""

    part: int
    topic: str
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        """The number of offsets, which is an upper bound for the number of records."""
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.part}:{self.topic}:{self.partition}:{self.start}:{self.end}"


def read_ranges(
    spark: SparkSession,
    connection: Connection,
    tasks: list[list[OffsetRange]],
    consumer: Mapping[str, str] | None = None,
    contracts: Contracts = NO_CONTRACTS,
    *,
    rate: int | None = None,
    counted: str | None = None,
    counting: str = "",
    compared: str | None = None,
) -> DataFrame:
    """Return the records in ``tasks``: ``part``, ``offset``, ``time`` (ms), ``key`` and ``value`` as bytes.

    The other columns are those of ``OffsetRangeSource.java``, by ``contracts``; a column that is not selected costs
    nothing. With ``counted``, return counts instead of records: ``groups`` (``GroupReader.java``) or ``totals``
    (``TotalsReader.java``), as the JSON in ``counting`` specifies (``CountingRules.java``). With ``compared``, also
    return the rows by which these rules compare records (``ComparingReader.java``).

    The rest is as in ``read_options``.
    """
    cores = spark.sparkContext.defaultParallelism
    options = read_options(cores, connection, tasks, consumer, contracts, rate=rate, counting=counting)
    kinds = {"counted": counted, "compared": compared}
    return spark.read.format(FORMAT).options(**options, **{name: kind for name, kind in kinds.items() if kind}).load()


def read_options(
    cores: int,
    connection: Connection,
    tasks: list[list[OffsetRange]],
    consumer: Mapping[str, str] | None = None,
    contracts: Contracts = NO_CONTRACTS,
    *,
    rate: int | None = None,
    counting: str = "",
) -> dict[str, str]:
    """Return the reader's options for ``tasks``, as ``OffsetRangeSource.java`` lists them.

    ``consumer`` overrides ``READ_OPTIONS``. ``rate`` limits the bytes a second of all tasks that run at the same time,
    which are at most as many as ``cores``. Records are judged by ``contracts``, and counted as ``counting`` specifies.
    """
    task_rate = None if rate is None else max(1, rate // max(1, min(len(tasks), cores)))
    fetch_sizes = _fetch_sizes(task_rate) if task_rate else {}
    settings = {**connection.for_java(), **READ_OPTIONS, **fetch_sizes, **(consumer or {})}
    return {
        **{f"kafka.{name}": value for name, value in settings.items()},
        **contracts.options(),
        "rate": str(task_rate or 0),
        "counting": counting,
        "tasks": "\n".join(" ".join(map(str, task)) for task in tasks),
    }


def _fetch_sizes(rate: int) -> dict[str, str]:
    """Return consumer options that fetch and poll about one second's bytes, to keep to ``rate`` from the start."""
    size = str(min(2 * 1024 * 1024, max(64 * 1024, rate)))
    return {"max.poll.records": "500", "max.partition.fetch.bytes": size, "fetch.max.bytes": size}


def pack_tasks(
    spark: SparkSession, ranges: Iterable[OffsetRange], whole: Collection[int] = frozenset()
) -> list[list[OffsetRange]]:
    """Return the tasks of ``pack`` for the cores of ``spark``."""
    return pack(spark.sparkContext.defaultParallelism, ranges, whole)


def pack(cores: int, ranges: Iterable[OffsetRange], whole: Collection[int] = frozenset()) -> list[list[OffsetRange]]:
    """Return tasks with about the same number of offsets: the largest range first, always into the emptiest task.

    A large range is cut. Small ranges share a task, and so a consumer. Every core gets a task, if there are enough
    ranges. Partitions with a number in ``whole`` are cut only if one core would get too many offsets.
    """
    uncut = list(ranges)
    total = sum(offsets.size for offsets in uncut)
    share = max(MOST_OFFSETS, -(-total // cores))
    cut = (
        _cut(offsets, share, _MOST_SHARES * share) if offsets.part in whole else _cut(offsets, MOST_OFFSETS)
        for offsets in uncut
    )
    pieces = sorted(chain.from_iterable(cut), key=lambda piece: -piece.size)
    tasks: list[list[OffsetRange]] = [[] for _ in range(min(len(pieces), max(cores, -(-total // MOST_OFFSETS))))]
    loads = [(0, number) for number in range(len(tasks))]
    for piece in pieces:
        load, number = heappop(loads)
        tasks[number].append(piece)
        heappush(loads, (load + piece.size, number))
    return tasks


def _cut(offsets: OffsetRange, size: int, most: float = 0) -> Iterable[OffsetRange]:
    """Return pieces of ``size`` offsets; the whole range if it has no more than ``most`` offsets."""
    if offsets.size <= most:
        return [offsets]
    starts = range(offsets.start, offsets.end, size)
    return [replace(offsets, start=start, end=min(offsets.end, start + size)) for start in starts]


def in_separate_tasks(ranges: Iterable[OffsetRange]) -> list[list[OffsetRange]]:
    """Return tasks in which each range is of another partition, because a consumer has one position in each."""
    tasks: list[list[OffsetRange]] = []
    next_task: dict[int, int] = {}
    for offsets in ranges:
        number = next_task.get(offsets.part, 0)
        if number == len(tasks):
            tasks.append([])
        tasks[number].append(offsets)
        next_task[offsets.part] = number + 1
    return tasks


def nearby_ranges(offsets: Iterable[int]) -> list[tuple[int, int]]:
    """Return the ranges ``[start, end)`` that contain the offsets, in order; one range for nearby offsets."""
    ranges: list[tuple[int, int]] = []
    for offset in sorted(set(offsets)):
        if ranges and offset - ranges[-1][1] < NEAR:
            ranges[-1] = ranges[-1][0], offset + 1
        else:
            ranges.append((offset, offset + 1))
    return ranges
