"""Compare the rows that the reader makes of records (``FieldRows.java``) in Spark.

Spark sorts the rows of each identity; it spills what does not fit into memory. Of ``unique``, only hashes are compared,
by bucket. The keys that a reference may have are rows of its rule, too, which come first: a reference without such a
row is no key, whatever hashes collide. No value leaves Spark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from topicwarden.audit.scan.compared_rules import ComparedRule
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.reader_notes import Note
from topicwarden.audit.scan.record_comparison import BrokenRule, ComparedRecords
from topicwarden.model.record_rules import OrderedRule, ReferenceRule


@dataclass(frozen=True)
class ComparedRows:
    """The results of rules by the rows of one read.

    ``results``: the result of each rule by its number, with ``broken`` by the number of the read. ``notes``: the
    reader's notes by the number of the read. ``repeated``: the buckets of each rule in which an identity occurs twice;
    their records have no rows yet. ``totals``: what the reader counted meanwhile, see ``RangeTotals``.
    """

    results: dict[int, ComparedRecords] = field(default_factory=dict)
    notes: dict[int, list[Note]] = field(default_factory=dict)
    repeated: dict[int, list[int]] = field(default_factory=dict)
    totals: list[str] = field(default_factory=list)


def compare_rows(
    rows: DataFrame, rules: list[ComparedRule], parts: Mapping[int, OffsetRange], now: int
) -> ComparedRows:
    """Return what the rows of ``FieldRows.java`` show; ``parts`` are the ranges by the number of the read."""
    # Texts are large, and Spark holds a group of rows in memory: each text is a group of its own.
    rows = rows.withColumn("text", F.when(F.col("rule").isNull(), F.monotonically_increasing_id()))
    ordered = F.col("rule").isin([rule.number for rule in rules if isinstance(rule.declared, OrderedRule)])
    rows = rows.withColumn("referenced", F.coalesce(F.col("rule") >= len(rules), F.lit(False)))
    rows = rows.withColumn("rule", F.when(F.col("referenced"), F.col("rule") - len(rules)).otherwise(F.col("rule")))
    first = F.when(F.col("referenced"), -2)
    rows = rows.withColumn("within", first.when(ordered, F.col("part")).otherwise(-1))
    rows = rows.withColumn("position", F.when(ordered, F.col("offset")).otherwise(F.col("time")))
    window = Window.partitionBy("rule", "identity", "text").orderBy("within", "position", "part", "offset")
    names = ("within", "part", "offset", "time", "value")
    for name in names:
        rows = rows.withColumn(f"earlier_{name}", F.lag(name).over(window))
    row, earlier = ({name: F.col(f"{prefix}{name}") for name in names} for prefix in ("", "earlier_"))
    rows = rows.withColumn("last_key", F.lit(None).cast("struct<offset: long, present: boolean>"))
    reference = F.lit(False)
    if numbers := [rule.number for rule in rules if isinstance(rule.declared, ReferenceRule)]:
        key = F.struct("offset", F.col("value").isNotNull().alias("present"))
        until_row = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        rows = rows.withColumn("last_key", F.max(F.when(F.col("referenced"), key)).over(until_row))
        reference = F.coalesce(F.col("rule").isin(numbers), F.lit(False)) & ~F.col("referenced")
    unknown = reference & F.col("last_key").isNull()
    breaks = F.lit(False)
    for rule in rules:
        breaks = F.when(F.col("rule") == rule.number, rule.is_broken(row, earlier, now)).otherwise(breaks)
    same = F.col("within") == F.col("earlier_within")
    rows = rows.withColumn("broken", F.coalesce(F.when(reference, unknown).otherwise(same) & breaks, F.lit(False)))
    rows = rows.withColumn("broken", F.col("broken") & ~F.col("referenced") & F.col("hashes").isNull())
    rows = rows.withColumn("bucket", F.when(F.col("hashes").isNotNull(), F.col("identity")))
    totals = rows.groupBy("rule", "part", "bucket", "text").agg(
        _records(F.col("value").isNotNull() & ~F.col("referenced")).alias("judged"),
        _records(F.col("broken")).alias("broken"),
        F.count_if(ordered & (F.col("earlier_within") != F.col("within"))).alias("moved"),
        F.min(F.when(F.col("broken"), F.struct("offset", "earlier_part", "earlier_offset", "identity"))).alias("first"),
        _records(unknown & ~F.col("broken")).alias("young"),
        _records(reference & ~F.col("last_key.present")).alias("deleted"),
        F.any_value("note").alias("note"),
        F.any_value("totals").alias("totals"),
        F.flatten(F.collect_list("hashes")).alias("hashes"),
    )
    distinct = F.size(F.array_distinct("hashes"))
    totals = totals.withColumn("repeats", F.col("bucket").isNotNull() & (distinct < F.size("hashes"))).drop("hashes")
    found = ComparedRows()
    for total in totals.collect():
        if total["rule"] is None:
            if total["totals"] is not None:
                found.totals.append(total["totals"])
            else:
                found.notes.setdefault(total["part"], []).append(json.loads(total["note"]))
            continue
        before = found.results.get(total["rule"], ComparedRecords())
        broken = dict(before.broken)
        if first := total["first"]:
            refers = isinstance(rules[total["rule"]].declared, ReferenceRule)
            broken[total["part"]] = BrokenRule(
                total["broken"],
                first["offset"],
                None if refers else parts[first["earlier_part"]].partition,
                None if refers else first["earlier_offset"],
                first["identity"],
            )
        found.results[total["rule"]] = ComparedRecords(
            before.judged + total["judged"],
            broken,
            before.moved_keys + total["moved"],
            young=before.young + total["young"],
            deleted=before.deleted + total["deleted"],
        )
        if total["repeats"]:
            found.repeated.setdefault(total["rule"], []).append(total["bucket"])
    return found


def _records(counted: Column) -> Column:
    """Return how many records the rows stand for to which the condition applies."""
    return F.coalesce(F.sum(F.when(counted, F.col("records"))), F.lit(0))
