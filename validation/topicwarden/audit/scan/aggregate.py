"""Merge the counts of the reader by group, and add them up by partition (``PartitionTotals.java``).

A group is one key, or one age band of a block of offsets. Spark needs the groups if several tasks read one partition,
or if an earlier audit has counted a part of it. Otherwise the reader adds up the groups, and no key enters Spark.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.scan.counts import METRICS, Merge

GROUP = ("part", "note", "keyed", "bucket")
"""The columns that identify a group."""

_MERGES: dict[str, Merge] = {
    **{name: metric.merge for name, metric in METRICS.items() if metric.column},
    # Columns of keys: the partitioners that fit, and offsets of the key's records.
    **{"fits": Merge.MIN, "first_offset": Merge.MIN, "last_offset": Merge.MAX, "last_tombstone": Merge.MAX},
    "second_offset": Merge.MIN,
}


def merge_groups(counted: DataFrame) -> DataFrame:
    """Return one row for each key, one for each age band of a block of offsets, and one for each note."""
    merges = {name: getattr(F, _MERGES[name].value)(name) for name in counted.columns if name not in GROUP}
    if "second_offset" in merges:  # the second record of a key may be the first one that another task read
        merges["second_offset"] = F.least(
            merges["second_offset"], F.get(F.sort_array(F.collect_list("first_offset")), F.lit(1))
        )
    merged = counted.groupBy(*GROUP).agg(*(column.alias(name) for name, column in merges.items()))
    return merged.select(counted.columns)


def add_up(spark: SparkSession, groups: DataFrame, counting: str) -> DataFrame:
    """Return rows of ``RangeTotals`` as JSON.

    ``groups`` has the reader's columns in their order. ``counting`` is the JSON that the reader received.

    ``GroupTotals.java`` adds up, with the code that the reader uses, so that each count has one definition.
    """
    jvm: Any = spark._jvm
    strings = jvm.org.apache.spark.sql.Encoders.STRING()
    return DataFrame(
        groups._jdf.mapPartitions(jvm.io.topicwarden.reader.counting.GroupTotals(counting), strings).toDF(), spark
    )
