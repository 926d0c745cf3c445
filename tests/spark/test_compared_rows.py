"""Test the comparison of rows in Spark for far more rules, and rows of one identity, than a project has at first."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.scan.compared_rows import compare_rows
from topicwarden.audit.scan.compared_rules import ComparedRule
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.model.contents import OrderedRule

RULES = [ComparedRule(number, f"t{number}", "ordered:0", OrderedRule(field="version")) for number in range(2_000)]
RECORDS = 200
"""The records of each rule: the value of the last one falls."""


def rows(spark: SparkSession) -> DataFrame:
    """Return rows as ``FieldRows.java`` makes them, of one partition for each rule."""
    record = F.col("id")
    rule, offset = (record % len(RULES)).cast("int"), (record / len(RULES)).cast("long")
    columns = {
        "part": rule,
        "rule": rule,
        "identity": F.lit(7).cast("long"),
        "sequence": rule,
        "position": offset,
        "offset": offset,
        "time": offset,
        "value": F.when(offset == RECORDS - 1, "n0").otherwise(F.format_string("n%05d", offset)).cast("binary"),
        "records": F.lit(1).cast("long"),
        "hashes": F.lit(None).cast("array<long>"),
        **dict.fromkeys(("digest", "content"), F.lit(None).cast("binary")),
        **dict.fromkeys(("note", "totals"), F.lit(None).cast("string")),
    }
    return spark.range(len(RULES) * RECORDS).select(*(column.alias(name) for name, column in columns.items()))


def test_two_thousand_rules_compare_their_records(spark: SparkSession) -> None:
    parts = {rule.number: OffsetRange(rule.number, rule.topic, 0, 0, RECORDS) for rule in RULES}
    found = compare_rows(rows(spark), RULES, parts, now=10_000)
    assert len(found.results) == len(RULES)
    for number, result in found.results.items():
        (broken,) = result.broken.items()
        assert (result.judged, broken[0], broken[1].records, broken[1].offset) == (RECORDS, number, 1, RECORDS - 1)
        assert (broken[1].other_partition, broken[1].other_offset) == (0, RECORDS - 2)
