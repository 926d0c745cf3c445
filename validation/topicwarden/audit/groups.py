"""Bring the reader's counts together, and add them up by partition (``counting/PartitionTotals.java``).

Groups, a row a key and a row an age band of a block of offsets, are needed where several tasks read of one partition,
or where a part of it is known from before. Else the reader adds them up itself, and no key enters Spark.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

GROUP = ("part", "note", "keyed", "bucket")
LEAST = ("fits", "first_null_key", "first_empty_value", "first_offset", "first_timestamp")
GREATEST = ("largest_record", "last_offset", "last_tombstone", "last_timestamp")
"""What tells one group from another, and what is told of two rows of one; the rest adds up."""

Counted = dict[str, int]
"""What was counted, by the names of ``Counts``; what there is nothing of is not there."""


@dataclass(frozen=True)
class Totals:
    """What a task tells of the part with this number: of records by age band, and of keys.

    ``before`` is what had been counted of the same keys, where they were known from before, and ``read`` the records
    that were read now. ``notes`` are the reader's on the records.
    """

    part: int
    read: int
    bands: list[Counted]
    notes: list[str]
    keys: Counted = field(default_factory=dict)
    before: Counted = field(default_factory=dict)

    @staticmethod
    def of(text: str) -> Totals:
        """As ``counting/PartitionTotals.java`` tells it."""
        told: dict[str, Any] = json.loads(text)
        keys = told.pop("keys", {})
        return Totals(**told, keys=keys, before=keys.pop("before", {}))


def grouped(counted: DataFrame) -> DataFrame:
    """One row for each key, or for each age band of a block of offsets, and one for each note."""
    added = counted.groupBy(*GROUP).agg(
        *(
            (F.min if name in LEAST else F.max if name in GREATEST else F.sum)(name).alias(name)
            for name in counted.columns
            if name not in GROUP
        )
    )
    return added.select(counted.columns)


def added_up(spark: SparkSession, groups: DataFrame, counting: str) -> DataFrame:
    """Adds up groups, in the order of the reader's columns, to rows of ``Totals``; ``counting`` as the reader had it.
    After these may come a column ``read``: of a block, how many of its records were read now.

    In Java (``counting/GroupTotals.java``), as the reader does: so each number is said once.
    """
    jvm: Any = spark._jvm
    strings = jvm.org.apache.spark.sql.Encoders.STRING()
    return DataFrame(
        groups._jdf.mapPartitions(jvm.io.topicwarden.reader.counting.GroupTotals(counting), strings).toDF(), spark
    )
