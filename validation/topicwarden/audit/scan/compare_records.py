"""Compare committed records with each other, by the rules ``ordered``, ``unique`` and ``references``.

The reader returns rows for the records and rules (``FieldRows.java``), with a 64-bit hash of the identity by which a
rule groups records; records that cannot change the result share a row (``ComparedRows.java``). The scan that counts all
records makes these rows, too. Its results are final for rules whose records were certainly all committed
(``ComparedScan.settled``); the topics of the other rules are read a second time.

Of ``unique``, the records of a bucket in which a hash occurs twice are read again. Then the first record of each
partition that breaks a rule is read again, with the earlier record: SHA-256 digests show whether their identities are
equal, so that no collision of hashes is a fault.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.scan.compared_rows import ComparedRows, compare_rows
from topicwarden.audit.scan.compared_rules import ComparedRule
from topicwarden.audit.scan.compared_scan import ComparedScan
from topicwarden.audit.scan.contracts import Contracts
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
from topicwarden.audit.scan.referenced_keys import incomplete_reason
from topicwarden.audit.scan.spark_source import SparkSource, literal
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.model.record_rules import ReferenceRule

_LEAST_REDUCERS = 4


def compare_records(
    spark: SparkSource,
    connection: Connection,
    scan: ComparedScan,
    *,
    live: Mapping[str, LiveTopic],
    contracts: Contracts,
    rate: int | None,
) -> dict[str, dict[str, ComparedRecords]]:
    """Return the result of each rule by topic, and by its name such as ``unique:0``.

    ``live`` are the topics whose records can be read. ``rate`` limits the bytes a second.
    """
    rules, by_part, now = scan.rules, scan.parts, scan.now
    found: dict[str, dict[str, ComparedRecords]] = {}
    for rule in rules:
        found.setdefault(rule.topic, {})[rule.name] = ComparedRecords()
    if not by_part:
        return found
    session, reader = spark(), Contracts(registry=contracts.registry)

    def read(tasks: list[list[OffsetRange]], topics: Mapping[str, Any], *, digests: bool = False) -> DataFrame:
        options = json.dumps({"topics": topics, "digests": digests})
        consumer = READ_COMMITTED
        return read_ranges(session, connection, tasks, consumer, reader, rate=rate, counted="fields", counting=options)

    def compared(topics: Mapping[str, Any]) -> ComparedRows:
        tasks = pack_tasks(session, (each for each in by_part.values() if each.topic in topics))
        session.conf.set("spark.sql.shuffle.partitions", str(max(len(tasks), _LEAST_REDUCERS)))
        return compare_rows(read(tasks, topics), rules, by_part, now) if tasks else ComparedRows()

    first, settled = scan.found, scan.settled(live)
    others = [rule.number for rule in rules if rule.number not in settled]
    second = compared(_only(scan, dict.fromkeys(others))) if others else ComparedRows()
    results = {number: result for number, result in first.results.items() if number in settled} | second.results
    repeated = {number: each for number, each in first.repeated.items() if number in settled} | second.repeated
    again = compared(_only(scan, repeated)) if repeated else ComparedRows()
    results |= {number: replace(results[number], broken=result.broken) for number, result in again.results.items()}
    confirmed = _confirmed(session, partial(read, topics=scan.topics, digests=True), rules, by_part, results, now=now)
    by_partition = {(each.topic, each.partition): each for each in scan.ranges}
    parts_of: dict[str, dict[int, int]] = {}
    for part, each in by_part.items():
        parts_of.setdefault(each.topic, {})[part] = each.partition
    for rule in rules:
        notes = first.notes if rule.number in settled else second.notes
        own = parts_of.get(rule.topic, {})
        all_notes = chain.from_iterable(notes.get(part, []) for part in own)
        unjudged = tuple(fault for fault in merge_faults(all_notes, None) if fault.rule == str(rule.number))
        unread = {
            partition: why
            for part, partition in own.items()
            if (why := unread_reason(notes.get(part, [])) or unread_reason(again.notes.get(part, [])))
        }
        result = results.get(rule.number, ComparedRecords())
        broken = {
            by_part[part].partition: confirmed.get((rule.number, part), each) for part, each in result.broken.items()
        }
        incomplete = None
        if isinstance(rule.declared, ReferenceRule):
            name = rule.declared.topic
            faults = merge_faults(chain.from_iterable(notes.values()), None)
            own_faults = [fault for fault in faults if fault.rule == str(rule.number + len(rules))]
            target = live.get(name) if rule.keys else None
            is_whole = partial(_is_whole, connection) if broken else _unneeded
            incomplete = incomplete_reason(target, by_partition, notes, own_faults, is_whole)
        found[rule.topic][rule.name] = replace(
            result, broken=broken, unjudged=unjudged, unread=unread, incomplete=incomplete
        )
    return found


def _only(scan: ComparedScan, selected: Mapping[int, Collection[int] | None]) -> dict[str, dict[str, Any]]:
    """Return the topics with the ``selected`` rules only, each with the buckets whose records it compares, or None."""

    def limited(rule: dict[str, Any]) -> Iterable[dict[str, Any]]:
        number = rule["rule"] % len(scan.rules)
        if number in selected:
            buckets = selected[number]
            yield rule if buckets is None else rule | {"selected": buckets}

    topics = {
        topic: each | {"rules": [*chain.from_iterable(map(limited, each["rules"]))]}
        for topic, each in scan.topics.items()
    }
    return {topic: each for topic, each in topics.items() if each["rules"]}


def _is_whole(connection: Connection, live: LiveTopic, partition: int) -> bool:
    with open_cluster(connection) as cluster:
        return cluster.is_whole(live, partition)


def _unneeded(live: LiveTopic, partition: int) -> bool:
    """Return false: without a reference to a key that no record has, nothing depends on the answer."""
    return False


def _confirmed(
    session: SparkSession,
    read: Any,
    rules: list[ComparedRule],
    parts: Mapping[int, OffsetRange],
    results: Mapping[int, ComparedRecords],
    *,
    now: int,
) -> dict[tuple[int, int], BrokenRule]:
    """Read the first records of each broken rule and partition again, and return those that break it once more.

    The pair of such a record and the earlier one takes the place of their identity, and digests are compared.
    """
    numbers: dict[TopicPartition, int] = {(each.topic, each.partition): part for part, each in parts.items()}
    rows: list[dict[str, int]] = []
    requested: dict[int, set[int]] = {}
    pairs = [(rule, part) for rule, result in results.items() for part in result.broken]
    for pair, (rule, part) in enumerate(pairs):
        broken = results[rule].broken[part]
        selected = [(part, broken.offset)]
        if broken.other_partition is not None and broken.other_offset is not None:
            selected.append((numbers[parts[part].topic, broken.other_partition], broken.other_offset))
        for at, offset in selected:
            rows.append({"pair": pair, "rule": rule, "part": at, "offset": offset, "identity": broken.identity})
            requested.setdefault(at, set()).add(offset)
    if not rows:
        return {}
    windows = [
        replace(parts[part], start=start, end=end)
        for part, offsets in requested.items()
        for start, end in nearby_ranges(offsets)
    ]
    expected = F.broadcast(literal(session, rows, "pair long, rule int, part int, offset long, identity long"))
    records = read(in_separate_tasks(windows))
    again = records.join(expected, ["rule", "part", "offset", "identity"]).withColumn("identity", F.col("pair"))
    shown = compare_rows(again.select(records.columns), rules, parts, now).results
    return {
        (rule, part): replace(results[rule].broken[part], confirmed=True, resent=shown[rule].broken[part].resent)
        for rule, part in pairs
        if rule in shown and part in shown[rule].broken
    }
