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
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.scan.compared_rows import ComparedRows, compare_rows
from topicwarden.audit.scan.compared_rules import ComparedRule, compared_rules
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.counts import ContentFault
from topicwarden.audit.scan.offset_ranges import (
    READ_COMMITTED,
    OffsetRange,
    in_separate_tasks,
    nearby_ranges,
    pack_tasks,
    read_ranges,
)
from topicwarden.audit.scan.reader_notes import Note, last_gap, merge_faults, unread_reason
from topicwarden.audit.scan.record_comparison import BrokenRule, ComparedRecords
from topicwarden.audit.scan.spark_source import SparkSource, literal
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.model.contents import ReferenceRule
from topicwarden.model.subject import DeclaredSubjects
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas

_LEAST_REDUCERS = 4


class ComparedScan:
    """The rules of an audit that compare records, and what the scan of all records has found by them.

    ``ranges`` are the offsets to read, up to the last stable offset, and ``now`` (ms) is when their ends were.
    ``parts`` are those that a rule concerns, by the number of the read. ``found`` is empty until a scan compares.
    """

    def __init__(
        self,
        declarations: Iterable[Declaration],
        ranges: Iterable[OffsetRange],
        now: int,
        schemas: ProjectSchemas,
        subjects: DeclaredSubjects,
    ) -> None:
        self.ranges, self.now = list(ranges), now
        by_name = {declaration.topic.name: declaration for declaration in declarations}
        self.rules, self.topics = compared_rules(by_name, self.ranges, now, schemas, subjects)
        self.parts = {each.part: each for each in self.ranges if each.topic in self.topics and each.start < each.end}
        self.found = ComparedRows()

    @property
    def options(self) -> str | None:
        """The rules as ``FieldRules.java`` reads them; None if there is nothing to compare."""
        return json.dumps({"topics": self.topics}) if self.parts else None

    def add_up(self, rows: DataFrame) -> list[str]:
        """Compare the rows of ``ComparingReader.java``, and return the totals of the counts in them."""
        self.found = compare_rows(rows, self.rules, self.parts, self.now)
        return self.found.totals

    def settled(self, live: Mapping[str, LiveTopic]) -> frozenset[int]:
        """Return the numbers of the rules for which the scan has compared exactly the committed records.

        A finished transaction leaves a marker, which occupies an offset, and an open one holds back the last stable
        offset. So all records of a log without a gap that was read to its end are committed, if its end was stable.
        """
        if not self.found.totals:
            return frozenset()
        uncertain = {each.topic for part, each in self.parts.items() if not self._is_committed(part, live[each.topic])}
        return frozenset(
            rule.number
            for rule in self.rules
            if rule.topic not in uncertain
            and not (isinstance(rule.declared, ReferenceRule) and rule.declared.topic in uncertain)
        )

    def _is_committed(self, part: int, live: LiveTopic) -> bool:
        read, notes = self.parts[part], self.found.notes.get(part, [])
        is_to_end = live.extents[read.partition].end == read.end
        return is_to_end and bool(notes) and last_gap(notes) is None and unread_reason(notes) is None


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


def incomplete_reason(
    live: LiveTopic | None,
    ranges: Mapping[TopicPartition, OffsetRange],
    notes: Mapping[int, list[Note]],
    unjudged: Iterable[ContentFault],
    is_whole: Callable[[LiveTopic, int], bool],
) -> str | None:
    """Return why a topic may have had keys that were not read; None if no record was ever removed from its logs.

    ``live`` is None if the topic was not read. ``ranges`` are the offsets to read, ``notes`` those of the reader by the
    number of the read, and ``unjudged`` the keys that could not be compared. Without a gap, nothing was deleted or
    compacted, and no record was aborted. ``is_whole`` tells whether the log of a partition with gaps has lost nothing:
    then its gaps are markers and records of aborted transactions.
    """
    if live is None:
        return "its records are not read by this audit, or this user may not read them"
    for number in range(live.topic.partitions):
        found = ranges.get((live.topic.name, number))
        own_notes = notes.get(found.part, []) if found else []
        reason = _partition_reason(live, number, found, own_notes)
        if reason is None and found and _records(own_notes) < found.end and not is_whole(live, number):
            reason = "compaction or deletion may have left gaps, and one may be a deleted key"
        if reason:
            return f"{reason} (partition {number})"
    return "some of its keys are not in the declared format" if any(unjudged) else None


def _partition_reason(live: LiveTopic, number: int, found: OffsetRange | None, notes: list[Note]) -> str | None:
    extent = live.extents.get(number)
    if extent is None or (found is None and extent.start < extent.end):
        return "its records could not be read"
    read = (0, 0) if found is None else (found.start, found.end)  # empty partitions are not read
    reasons = {
        f"its log begins at offset {extent.start:,}: earlier records are gone": extent.start > 0,
        "it has an open transaction": extent.last_stable < extent.end,
        "only a part of its records was read": read != (0, extent.end),
        unread_reason(notes): unread_reason(notes) is not None,
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def _records(notes: list[Note]) -> int:
    return sum(records for note in notes for records, _ in note["types"].values())
