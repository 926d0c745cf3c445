"""Compare the committed records of a topic with each other, by the rules ``ordered`` and ``unique``.

The reader returns a row for each record and rule (``FieldReader.java``), with a 64-bit hash of the identity by which
the rule groups records. Spark sorts the rows of each identity; it spills what does not fit into memory. Then the first
record of each partition that breaks a rule is read again, with the earlier record: SHA-256 digests show whether their
identities are equal, so that no collision of hashes is a fault. No value leaves Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.scan.contracts import Contracts, encoding
from topicwarden.audit.scan.offset_ranges import (
    READ_COMMITTED,
    OffsetRange,
    in_separate_tasks,
    nearby_ranges,
    pack_tasks,
    read_ranges,
)
from topicwarden.audit.scan.reader_notes import merge_faults, unread_reason
from topicwarden.audit.scan.record_comparison import BrokenRule, ComparedRecords
from topicwarden.audit.scan.spark_source import SparkSource, literal
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.record_rules import OrderedRule, UniqueRule, path_steps
from topicwarden.model.subject import DeclaredSubjects
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas

_LEAST_REDUCERS = 4


@dataclass(frozen=True)
class _Rule:
    number: int
    topic: str
    name: str
    declared: OrderedRule | UniqueRule

    def for_java(self) -> dict[str, Any]:
        """Return the rule as ``FieldRules.java`` reads it."""
        if isinstance(self.declared, OrderedRule):
            return {"rule": self.number, "kind": "ORDERED", "parts": [{"field": path_steps(self.declared.field)}]}
        parts: list[dict[str, Any]] = [{"field": path_steps(path)} for path in self.declared.fields or ()]
        parts += [{"header": self.declared.header}] if self.declared.header else []
        parts += [{}] if self.declared.key else []
        return {"rule": self.number, "kind": "UNIQUE", "parts": parts}

    def is_broken(self, row: Mapping[str, Column], earlier: Mapping[str, Column]) -> Column:
        """Return whether a row breaks the rule, given the row before it of the same identity."""
        if isinstance(self.declared, OrderedRule):
            value, before = row["value"], earlier["value"]
            falls = value <= before if self.declared.strict else value < before
            return (F.substring(value, 1, 1) == F.substring(before, 1, 1)) & falls
        if self.declared.within is None:
            return F.lit(True)
        dated = (row["time"] >= 0) & (earlier["time"] >= 0)
        return F.when(dated, row["time"] - earlier["time"] <= self.declared.within).otherwise(F.lit(False))


def compare_records(
    spark: SparkSource,
    connection: Connection,
    declarations: Iterable[Declaration],
    ranges: Iterable[OffsetRange],
    *,
    contracts: Contracts,
    schemas: ProjectSchemas,
    subjects: DeclaredSubjects,
    rate: int | None,
) -> dict[str, dict[str, ComparedRecords]]:
    """Return the result of each rule by topic, and by its name such as ``unique:0``.

    ``ranges`` are the offsets to read, up to the last stable offset. ``rate`` limits the bytes a second.
    """
    rules: list[_Rule] = []
    topics: dict[str, dict[str, Any]] = {}
    for declaration in declarations:
        topic, contents = declaration.topic.name, declaration.topic.contents
        declared: dict[str, tuple[OrderedRule | UniqueRule, ...]] = {
            "ordered": contents.ordered or (),
            "unique": contents.unique or (),
        }
        added = [(f"{kind}:{number}", rule) for kind, each in declared.items() for number, rule in enumerate(each)]
        if added:
            own = [_Rule(len(rules) + number, topic, *each) for number, each in enumerate(added)]
            rules += own
            value = encoding(declaration, "value", schemas, subjects)
            if value.get("format") == "json" and "registry" not in value:
                value.pop("schema", None)  # value-schema judges it
            topics[topic] = {"value": value, "rules": [rule.for_java() for rule in own]}
    parts = [each for each in ranges if each.topic in topics and each.start < each.end]
    found = {name: {rule.name: ComparedRecords() for rule in rules if rule.topic == name} for name in topics}
    if not parts:
        return found
    session, reader = spark(), Contracts(registry=contracts.registry)
    tasks = pack_tasks(session, parts)
    session.conf.set("spark.sql.shuffle.partitions", str(max(len(tasks), _LEAST_REDUCERS)))

    def read(tasks: list[list[OffsetRange]], *, digests: bool) -> DataFrame:
        options = json.dumps({"topics": topics, "digests": digests})
        consumer = READ_COMMITTED
        return read_ranges(session, connection, tasks, consumer, reader, rate=rate, counted="fields", counting=options)

    by_part = {each.part: each for each in parts}
    results, notes = _compared(read(tasks, digests=False), rules, by_part)
    confirmed = _confirmed(session, read, rules, by_part, results)
    for rule in rules:
        own_notes = {each.partition: notes.get(part, []) for part, each in by_part.items() if each.topic == rule.topic}
        texts = [note for each in own_notes.values() for note in each]
        unjudged = tuple(fault for fault in merge_faults(texts, None) if fault.rule == str(rule.number))
        unread = {partition: why for partition, own in own_notes.items() if (why := unread_reason(own))}
        result = results.get(rule.number, ComparedRecords())
        broken = {
            by_part[part].partition: confirmed.get((rule.number, part), each) for part, each in result.broken.items()
        }
        found[rule.topic][rule.name] = replace(result, broken=broken, unjudged=unjudged, unread=unread)
    return found


def _compared(
    rows: DataFrame, rules: list[_Rule], parts: Mapping[int, OffsetRange]
) -> tuple[dict[int, ComparedRecords], dict[int, list[str]]]:
    """Return the result of each rule, with ``broken`` by the number of the read, and the reader's notes by the same."""
    ordered = F.col("rule").isin([rule.number for rule in rules if isinstance(rule.declared, OrderedRule)])
    rows = rows.withColumn("within", F.when(ordered, F.col("part")).otherwise(-1))
    rows = rows.withColumn("position", F.when(ordered, F.col("offset")).otherwise(F.col("time")))
    window = Window.partitionBy("rule", "identity").orderBy("within", "position", "part", "offset")
    names = ("within", "part", "offset", "time", "value")
    for name in names:
        rows = rows.withColumn(f"earlier_{name}", F.lag(name).over(window))
    row, earlier = ({name: F.col(f"{prefix}{name}") for name in names} for prefix in ("", "earlier_"))
    broken = F.lit(False)
    for rule in rules:
        broken = F.when(F.col("rule") == rule.number, rule.is_broken(row, earlier)).otherwise(broken)
    same = F.col("within") == F.col("earlier_within")
    rows = rows.withColumn("broken", F.coalesce(same & broken, F.lit(False)))
    totals = rows.groupBy("rule", "part").agg(
        F.count_if(F.col("value").isNotNull()).alias("judged"),
        F.count_if(F.col("broken")).alias("broken"),
        F.count_if(F.col("earlier_within") != F.col("within")).alias("moved"),
        F.min(F.when(F.col("broken"), F.struct("offset", "earlier_part", "earlier_offset"))).alias("first"),
        F.collect_list("note").alias("notes"),
    )
    results: dict[int, ComparedRecords] = {}
    notes: dict[int, list[str]] = {}
    for total in totals.collect():
        if total["rule"] is None:
            notes[total["part"]] = total["notes"]
            continue
        before = results.get(total["rule"], ComparedRecords())
        found = dict(before.broken)
        if first := total["first"]:
            other = parts[first["earlier_part"]].partition
            found[total["part"]] = BrokenRule(total["broken"], first["offset"], other, first["earlier_offset"])
        judged, moved = before.judged + total["judged"], before.moved_keys + total["moved"]
        results[total["rule"]] = ComparedRecords(judged, found, moved)
    return results, notes


def _confirmed(
    session: SparkSession,
    read: Any,
    rules: list[_Rule],
    parts: Mapping[int, OffsetRange],
    results: Mapping[int, ComparedRecords],
) -> dict[tuple[int, int], BrokenRule]:
    """Read the first two records of each broken rule and partition again, and return what they show."""
    numbers: dict[TopicPartition, int] = {(each.topic, each.partition): part for part, each in parts.items()}
    rows: list[dict[str, int]] = []
    requested: dict[int, set[int]] = {}
    pairs = [(rule, part) for rule, result in results.items() for part in result.broken]
    for pair, (rule, part) in enumerate(pairs):
        broken = results[rule].broken[part]
        other = numbers[parts[part].topic, broken.other_partition]
        for later, at, offset in ((0, other, broken.other_offset), (1, part, broken.offset)):
            rows.append({"pair": pair, "later": later, "rule": rule, "part": at, "offset": offset})
            requested.setdefault(at, set()).add(offset)
    if not rows:
        return {}
    windows = [
        replace(parts[part], start=start, end=end)
        for part, offsets in requested.items()
        for start, end in nearby_ranges(offsets)
    ]
    selected = F.broadcast(literal(session, rows, "pair int, later int, rule int, part int, offset long"))
    again = read(in_separate_tasks(windows), digests=True).join(selected, ["rule", "part", "offset"])
    found = again.groupBy("pair", "rule").agg(
        F.count("*").alias("records"),
        *(F.count_distinct(name).alias(f"{name}s") for name in ("digest", "content", "time")),
        *(F.max_by(name, "later").alias(name) for name in ("time", "value")),
        *(F.min_by(name, "later").alias(f"earlier_{name}") for name in ("time", "value")),
    )
    row, earlier = ({name: F.col(f"{prefix}{name}") for name in ("time", "value")} for prefix in ("", "earlier_"))
    breaks = F.lit(False)
    for each in rules:
        breaks = F.when(F.col("rule") == each.number, each.is_broken(row, earlier)).otherwise(breaks)
    shown = found.select(
        "pair",
        F.coalesce((F.col("records") == 2) & (F.col("digests") == 1) & breaks, F.lit(False)).alias("confirmed"),
        ((F.col("contents") == 1) & (F.col("times") == 1)).alias("resent"),
    ).collect()
    return {
        (rule, part): replace(results[rule].broken[part], confirmed=each["confirmed"], resent=each["resent"])
        for each in shown
        for rule, part in (pairs[each["pair"]],)
    }
