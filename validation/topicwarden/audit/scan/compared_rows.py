"""Compare the rows that the reader makes of records (``FieldRows.java``) in Spark.

Spark sorts the rows of each identity; it spills what does not fit into memory. ``ComparedGroups.java`` then compares
them in one pass. Of ``unique``, only hashes are compared, by bucket. No value leaves Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from topicwarden.audit.scan.compared_rules import ComparedRule
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.reader_notes import Note
from topicwarden.audit.scan.record_comparison import BrokenRule, ComparedRecords


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
    text = F.hash("note", "totals")  # texts are large: they are spread over all tasks
    keyed = rows.withColumn("rule", F.col("rule") % len(rules))  # see ComparedRule.for_keys
    grouped = keyed.repartition("rule", F.coalesce("identity", text))
    ordered = grouped.sortWithinPartitions("rule", "identity", "sequence", "position", "part", "offset")
    jvm: Any = rows.sparkSession._jvm
    declared = json.dumps([rule.for_java(now, 0) for rule in rules])
    compared = jvm.io.topicwarden.reader.source.ComparedGroups.compare(ordered._jdf, declared)
    return _found(DataFrame(compared, rows.sparkSession).collect(), parts)


def _found(totals: Iterable[Row], parts: Mapping[int, OffsetRange]) -> ComparedRows:
    """Add up the totals of ``ComparedGroups.java``."""
    found = ComparedRows()
    for total in totals:
        if total["totals"] is not None:
            found.totals.append(total["totals"])
        elif total["rule"] is None:
            found.notes.setdefault(total["part"], []).append(json.loads(total["note"]))
        elif total["bucket"] is not None:
            found.repeated.setdefault(total["rule"], []).append(total["bucket"])
        else:
            _add(found.results, total, parts)
    return found


def _add(results: dict[int, ComparedRecords], total: Row, parts: Mapping[int, OffsetRange]) -> None:
    """Add the total of one rule and partition, which may have totals of several tasks."""
    before = results.get(total["rule"], ComparedRecords())
    broken = dict(before.broken)
    if total["broken"]:
        part, other = total["part"], total["other_part"]
        first = BrokenRule(
            total["broken"],
            total["offset"],
            None if other is None else parts[other].partition,
            total["other_offset"],
            total["identity"],
            resent=total["resent"],
        )
        broken[part] = first.plus(broken[part]) if part in broken else first
    results[total["rule"]] = ComparedRecords(
        before.judged + total["judged"],
        broken,
        before.moved_keys + total["moved"],
        young=before.young + total["young"],
        deleted=before.deleted + total["deleted"],
    )
