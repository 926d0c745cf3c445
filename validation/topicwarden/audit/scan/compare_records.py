"""Compare committed records with each other, by the rules ``ordered``, ``unique`` and ``references``.

The reader returns rows for the records and rules (``FieldReader.java``), with a 64-bit hash of the identity by which a
rule groups records; records that cannot change the result share a row (``ComparedRows.java``). Spark sorts the rows of
each identity; it spills what does not fit into memory. Of ``unique``, only hashes are compared first, by bucket; the
records of a bucket in which one occurs twice are read again. Then the first record of each partition that breaks a rule
is read again, with the earlier record: SHA-256 digests show whether their identities are equal, so that no collision of
hashes is a fault. The keys that a reference may have are rows of its rule, too, which come first: a reference without
such a row is no key, whatever hashes collide. No value leaves Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.scan.compared_rules import ComparedRule, compared_rules
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.offset_ranges import (
    READ_COMMITTED,
    OffsetRange,
    in_separate_tasks,
    nearby_ranges,
    pack_tasks,
    read_ranges,
)
from topicwarden.audit.scan.reader_notes import Note, merge_faults, unread_reason
from topicwarden.audit.scan.record_comparison import BrokenRule, ComparedRecords
from topicwarden.audit.scan.referenced_keys import incomplete_reason
from topicwarden.audit.scan.spark_source import SparkSource, literal
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.model.record_rules import OrderedRule, ReferenceRule
from topicwarden.model.subject import DeclaredSubjects
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas

_LEAST_REDUCERS = 4


def compare_records(
    spark: SparkSource,
    connection: Connection,
    declarations: Iterable[Declaration],
    ranges: Iterable[OffsetRange],
    *,
    live: Mapping[str, LiveTopic],
    now: int,
    contracts: Contracts,
    schemas: ProjectSchemas,
    subjects: DeclaredSubjects,
    rate: int | None,
) -> dict[str, dict[str, ComparedRecords]]:
    """Return the result of each rule by topic, and by its name such as ``unique:0``.

    ``ranges`` are the offsets to read, up to the last stable offset, and ``live`` the topics whose records can be read.
    ``now`` (ms) is when their ends were. ``rate`` limits the bytes a second.
    """
    ranges = list(ranges)
    by_name = {declaration.topic.name: declaration for declaration in declarations}
    rules, topics = compared_rules(by_name, ranges, now, schemas, subjects)
    references = {rule: rule.declared.topic for rule in rules if isinstance(rule.declared, ReferenceRule)}
    parts = [each for each in ranges if each.topic in topics and each.start < each.end]
    found: dict[str, dict[str, ComparedRecords]] = {}
    for rule in rules:
        found.setdefault(rule.topic, {})[rule.name] = ComparedRecords()
    if not parts:
        return found
    session, reader = spark(), Contracts(registry=contracts.registry)
    tasks = pack_tasks(session, parts)
    session.conf.set("spark.sql.shuffle.partitions", str(max(len(tasks), _LEAST_REDUCERS)))

    def read(
        tasks: list[list[OffsetRange]], *, digests: bool = False, selected: Mapping[int, list[int]] | None = None
    ) -> DataFrame:
        compared = topics if selected is None else _only(topics, selected)
        options = json.dumps({"topics": compared, "digests": digests})
        consumer = READ_COMMITTED
        return read_ranges(session, connection, tasks, consumer, reader, rate=rate, counted="fields", counting=options)

    by_part = {each.part: each for each in parts}
    results, notes, repeated = _compared(read(tasks), rules, by_part, now)
    again_notes: dict[int, list[Note]] = {}
    if repeated:
        selected = [each for each in parts if any(rules[number].topic == each.topic for number in repeated)]
        rows = read(pack_tasks(session, selected), selected=repeated)
        again, again_notes, _ = _compared(rows, rules, by_part, now)
        results |= {number: replace(results[number], broken=result.broken) for number, result in again.items()}
    confirmed = _confirmed(session, read, rules, by_part, results, now=now)
    by_partition = {(each.topic, each.partition): each for each in ranges}
    for rule in rules:
        own = {part: each.partition for part, each in by_part.items() if each.topic == rule.topic}
        all_notes = chain.from_iterable(notes.get(part, []) for part in own)
        unjudged = tuple(fault for fault in merge_faults(all_notes, None) if fault.rule == str(rule.number))
        unread = {
            partition: why
            for part, partition in own.items()
            if (why := unread_reason(notes.get(part, [])) or unread_reason(again_notes.get(part, [])))
        }
        result = results.get(rule.number, ComparedRecords())
        broken = {
            by_part[part].partition: confirmed.get((rule.number, part), each) for part, each in result.broken.items()
        }
        incomplete = None
        if rule in references:
            name = references[rule]
            faults = merge_faults(chain.from_iterable(notes.values()), None)
            own_faults = [fault for fault in faults if fault.rule == str(rule.number + len(rules))]
            target = live.get(name) if rule.keys else None
            is_whole = partial(_is_whole, connection) if broken else _unneeded
            incomplete = incomplete_reason(target, by_partition, notes, own_faults, is_whole)
        found[rule.topic][rule.name] = replace(
            result, broken=broken, unjudged=unjudged, unread=unread, incomplete=incomplete
        )
    return found


def _only(topics: Mapping[str, dict[str, Any]], selected: Mapping[int, list[int]]) -> dict[str, dict[str, Any]]:
    """Return ``topics`` with the ``selected`` rules only, each with the buckets whose records it compares."""
    rules = {
        topic: [rule | {"selected": selected[rule["rule"]]} for rule in each["rules"] if rule["rule"] in selected]
        for topic, each in topics.items()
    }
    return {topic: each | {"rules": rules[topic]} for topic, each in topics.items() if rules[topic]}


def _is_whole(connection: Connection, live: LiveTopic, partition: int) -> bool:
    with open_cluster(connection) as cluster:
        return cluster.is_whole(live, partition)


def _unneeded(live: LiveTopic, partition: int) -> bool:
    """Return false: without a reference to a key that no record has, nothing depends on the answer."""
    return False


def _compared(
    rows: DataFrame, rules: list[ComparedRule], parts: Mapping[int, OffsetRange], now: int
) -> tuple[dict[int, ComparedRecords], dict[int, list[Note]], dict[int, list[int]]]:
    """Return the result of each rule, with ``broken`` by the number of the read, and the reader's notes by the same.

    The third value has the buckets of each rule in which an identity occurs twice: their records have no rows yet.
    """
    ordered = F.col("rule").isin([rule.number for rule in rules if isinstance(rule.declared, OrderedRule)])
    rows = rows.withColumn("referenced", F.coalesce(F.col("rule") >= len(rules), F.lit(False)))
    rows = rows.withColumn("rule", F.when(F.col("referenced"), F.col("rule") - len(rules)).otherwise(F.col("rule")))
    first = F.when(F.col("referenced"), -2)
    rows = rows.withColumn("within", first.when(ordered, F.col("part")).otherwise(-1))
    rows = rows.withColumn("position", F.when(ordered, F.col("offset")).otherwise(F.col("time")))
    window = Window.partitionBy("rule", "identity").orderBy("within", "position", "part", "offset")
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
    broken = F.lit(False)
    for rule in rules:
        broken = F.when(F.col("rule") == rule.number, rule.is_broken(row, earlier, now)).otherwise(broken)
    same = F.col("within") == F.col("earlier_within")
    rows = rows.withColumn("broken", F.coalesce(F.when(reference, unknown).otherwise(same) & broken, F.lit(False)))
    rows = rows.withColumn("broken", F.col("broken") & ~F.col("referenced") & F.col("hashes").isNull())
    rows = rows.withColumn("bucket", F.when(F.col("hashes").isNotNull(), F.col("identity")))
    totals = rows.groupBy("rule", "part", "bucket").agg(
        _records(F.col("value").isNotNull() & ~F.col("referenced")).alias("judged"),
        _records(F.col("broken")).alias("broken"),
        F.count_if(ordered & (F.col("earlier_within") != F.col("within"))).alias("moved"),
        F.min(F.when(F.col("broken"), F.struct("offset", "earlier_part", "earlier_offset", "identity"))).alias("first"),
        _records(unknown & ~F.col("broken")).alias("young"),
        _records(reference & ~F.col("last_key.present")).alias("deleted"),
        F.collect_list("note").alias("notes"),
        F.flatten(F.collect_list("hashes")).alias("hashes"),
    )
    distinct = F.size(F.array_distinct("hashes"))
    totals = totals.withColumn("repeats", F.col("bucket").isNotNull() & (distinct < F.size("hashes"))).drop("hashes")
    repeated: dict[int, list[int]] = {}
    results: dict[int, ComparedRecords] = {}
    notes: dict[int, list[Note]] = {}
    for total in totals.collect():
        if total["rule"] is None:
            notes[total["part"]] = [json.loads(note) for note in total["notes"]]
            continue
        before = results.get(total["rule"], ComparedRecords())
        found = dict(before.broken)
        if first := total["first"]:
            refers = isinstance(rules[total["rule"]].declared, ReferenceRule)
            found[total["part"]] = BrokenRule(
                total["broken"],
                first["offset"],
                None if refers else parts[first["earlier_part"]].partition,
                None if refers else first["earlier_offset"],
                first["identity"],
            )
        results[total["rule"]] = ComparedRecords(
            before.judged + total["judged"],
            found,
            before.moved_keys + total["moved"],
            young=before.young + total["young"],
            deleted=before.deleted + total["deleted"],
        )
        if total["repeats"]:
            repeated.setdefault(total["rule"], []).append(total["bucket"])
    return results, notes, repeated


def _records(counted: Column) -> Column:
    """Return how many records the rows stand for to which the condition applies."""
    return F.coalesce(F.sum(F.when(counted, F.col("records"))), F.lit(0))


def _confirmed(
    session: SparkSession,
    read: Any,
    rules: list[ComparedRule],
    parts: Mapping[int, OffsetRange],
    results: Mapping[int, ComparedRecords],
    *,
    now: int,
) -> dict[tuple[int, int], BrokenRule]:
    """Read the first records of each broken rule and partition again, and return what they show."""
    numbers: dict[TopicPartition, int] = {(each.topic, each.partition): part for part, each in parts.items()}
    rows: list[dict[str, int]] = []
    needed = F.lit(2)
    requested: dict[int, set[int]] = {}
    pairs = [(rule, part) for rule, result in results.items() for part in result.broken]
    for pair, (rule, part) in enumerate(pairs):
        broken = results[rule].broken[part]
        selected = [(1, part, broken.offset)]
        if broken.other_partition is not None and broken.other_offset is not None:
            selected.append((0, numbers[parts[part].topic, broken.other_partition], broken.other_offset))
        else:
            needed = F.when(F.col("rule") == rule, 1).otherwise(needed)
        for later, at, offset in selected:
            record = {"pair": pair, "later": later, "rule": rule, "part": at, "offset": offset}
            rows.append(record | {"expected": broken.identity})
            requested.setdefault(at, set()).add(offset)
    if not rows:
        return {}
    windows = [
        replace(parts[part], start=start, end=end)
        for part, offsets in requested.items()
        for start, end in nearby_ranges(offsets)
    ]
    schema = "pair int, later int, rule int, part int, offset long, expected long"
    requested_rows = F.broadcast(literal(session, rows, schema))
    again = read(in_separate_tasks(windows), digests=True).join(requested_rows, ["rule", "part", "offset"])
    found = again.groupBy("pair", "rule").agg(
        F.count_if(F.col("identity") == F.col("expected")).alias("records"),
        *(F.count_distinct(name).alias(f"{name}s") for name in ("digest", "content", "time")),
        *(F.max_by(name, "later").alias(name) for name in ("time", "value")),
        *(F.min_by(name, "later").alias(f"earlier_{name}") for name in ("time", "value")),
    )
    row, earlier = ({name: F.col(f"{prefix}{name}") for name in ("time", "value")} for prefix in ("", "earlier_"))
    breaks = F.lit(False)
    for each in rules:
        breaks = F.when(F.col("rule") == each.number, each.is_broken(row, earlier, now)).otherwise(breaks)
    shown = found.select(
        "pair",
        F.coalesce((F.col("records") == needed) & (F.col("digests") == 1) & breaks, F.lit(False)).alias("confirmed"),
        ((F.col("records") == 2) & (F.col("contents") == 1) & (F.col("times") == 1)).alias("resent"),
    ).collect()
    return {
        (rule, part): replace(results[rule].broken[part], confirmed=each["confirmed"], resent=each["resent"])
        for each in shown
        for rule, part in (pairs[each["pair"]],)
    }
