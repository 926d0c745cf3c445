"""Find the records of a finding again: every offset, by the predicate with which the audit judged them.

A finding has the number of records and their first offsets. This module reads the partitions of the finding again, as
far as the audit read them, with the same Java reader and the same contract, and returns all offsets. Only committed
records count, as in the audit. Faults that depend on other records or on the time of the audit are not supported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.java_errors import remedy, root_cause
from topicwarden.audit.scan.offset_ranges import READ_COMMITTED, OffsetRange, pack_tasks, read_ranges
from topicwarden.audit.scan.reader_notes import unread_reason
from topicwarden.audit.scan.spark_source import SparkSource
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.finding import OF_SINGLE_RECORDS, Finding
from topicwarden.model.problem import Refusal
from topicwarden.specs.stacks.registry_settings import RegistrySettings

_BY_COLUMN: Final[Mapping[str, Callable[[], Column]]] = MappingProxyType(
    {
        "null-key": lambda: F.col("key").isNull(),
        "empty-value": lambda: F.length("value") == 0,
    }
)
"""Checks that need no contract: the condition on a row of the reader. It finds the others by the topic's contract."""

_LARGEST: Final = (1 << 31) - 2
"""The most records that a search can be limited to: the reader and Spark add one, and have integers of 32 bits."""

_NUMBERS: Final = ("records", "partition", "offset")
"""The evidence of a finding whose records can be found again."""
_EXPRESSION: Final = "that do not satisfy "


@dataclass(frozen=True)
class FindingRecords:
    """The offsets of a finding's records by partition, ascending. ``deleted`` records are no longer in the log."""

    offsets: Mapping[int, tuple[int, ...]]
    deleted: int = 0

    @property
    def records(self) -> int:
        """The number of records that are in the log."""
        return sum(map(len, self.offsets.values()))


def rule_of(finding: Finding) -> str:
    """Return the reader's rule for a finding, such as ``value-schema`` or ``expression:amount-positive``.

    Raises Refusal if the records of such a finding cannot be found again exactly.
    """
    if finding.check not in OF_SINGLE_RECORDS:
        raise Refusal(
            f"finding {finding.id} is of the check {finding.check}, whose findings do not name single records: "
            f"expected one of {', '.join(OF_SINGLE_RECORDS)}"
        )
    if "counted" in finding.evidence:
        raise Refusal(
            f"finding {finding.id} has only a bound of the number of records ({finding.evidence['counted']}): "
            "audit the topic alone (--topics), then use the finding of that report"
        )
    if finding.verdict.value != "fail":
        raise Refusal(f"finding {finding.id} is {finding.verdict.value}: expected a fail, which proves its records")
    if missing := [name for name in _NUMBERS if not isinstance(finding.evidence.get(name), int)]:
        raise Refusal(
            f"finding {finding.id} has no number as {', '.join(missing)} in its evidence: expected one that an audit "
            "has written"
        )
    if finding.check != "expression":
        return finding.check
    after = finding.message.partition(_EXPRESSION)[2]
    return f"expression:{after.partition(', first at ')[0]}"


@dataclass(frozen=True)
class RecordSearch:
    """A search for the records of ``topic`` that break ``rule``, as ``rule_of`` returns it. ``subject`` names them.

    ``ranges`` has the start and the end offset of each partition. ``contract`` is the contract of the topic, as
    ``build_contracts`` returns it, and ``registry`` the Schema Registry that it refers to. At most ``most_records`` are
    returned.
    """

    subject: str
    topic: str
    rule: str
    ranges: Mapping[int, tuple[int, int]]
    contract: Mapping[str, Any]
    registry: RegistrySettings | None
    most_records: int


def find_records(spark: SparkSource, connection: Connection, search: RecordSearch) -> dict[int, tuple[int, ...]]:
    """Return the offsets of all records in the ranges that break the rule, by partition.

    Raises Refusal if there are too many, if a record cannot be judged now, or if the scan fails.
    """
    most = min(search.most_records, _LARGEST)
    parts = [
        OffsetRange(number, search.topic, partition, start, end)
        for number, (partition, (start, end)) in enumerate(sorted(search.ranges.items()))
        if start < end
    ]
    if not parts:
        return {}
    contracts = Contracts({search.topic: {**search.contract, "offsets": most + 1}}, search.registry)
    try:
        session = spark()
        rows = read_ranges(session, connection, pack_tasks(session, parts), READ_COMMITTED, contracts)
        by_column = _BY_COLUMN.get(search.rule)
        by_number = _by_column(rows, by_column(), most) if by_column else _by_rule(rows, search.rule)
    except (Py4JJavaError, PySparkException) as error:
        raise Refusal(f"the records of the finding could not be read: {root_cause(error)}; {remedy(error)}") from error
    found = {
        part.partition: tuple(sorted(offsets)) for part in parts if (offsets := by_number.get(part.part)) is not None
    }
    total = sum(map(len, found.values()))
    if total > most:
        raise Refusal(f"{search.subject} has more than {most:,} records: raise --max-records if they are intended")
    return found


def _by_column(rows: DataFrame, broken: Column, most: int) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for row in rows.where(broken).select("part", "offset").limit(most + 1).collect():
        found.setdefault(row["part"], []).append(row["offset"])
    return found


def _by_rule(rows: DataFrame, rule: str) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for row in rows.select("part", "note").where(F.col("note").isNotNull()).collect():
        note = json.loads(row["note"])
        if reason := unread_reason([note]):
            raise Refusal(f"a partition cannot be read: {reason}")
        for fault in (each for each in note["faults"] if each["rule"] == rule):
            if fault["undecided"]:
                raise Refusal(f"{fault['count']:,} records cannot be judged now: {fault['reason']}; correct this first")
            found.setdefault(row["part"], []).extend(fault["offsets"])
    return found


def confirmed(
    finding: Finding,
    found: Mapping[int, tuple[int, ...]],
    audited_starts: Mapping[int, int],
    starts: Mapping[int, int],
    *,
    compacted: bool,
) -> FindingRecords:
    """Return the records that were found, and how many of the finding were deleted since the audit.

    ``audited_starts`` and ``starts`` are the log starts in the audit and now. Raises Refusal if the records are not
    those of the finding: more, others, or fewer although nothing was deleted.
    """
    expected, total = int(finding.evidence.get("records") or 0), sum(map(len, found.values()))
    again = "the declaration, or the Schema Registry, has changed since the audit: audit again"
    if total > expected:
        raise Refusal(f"finding {finding.id} has {expected:,} records, and {total:,} are found now; {again}")
    removed = compacted or any(starts.get(partition, 0) > start for partition, start in audited_starts.items())
    if total < expected and not removed:
        raise Refusal(f"finding {finding.id} has {expected:,} records, and only {total:,} are found now; {again}")
    partition, first = finding.evidence.get("partition"), finding.evidence.get("offset")
    assert isinstance(partition, int) and isinstance(first, int)
    present = first in found.get(partition, ())
    may_be_deleted = total < expected and (compacted or first < starts.get(partition, 0))
    if not present and not may_be_deleted:
        raise Refusal(
            f"finding {finding.id} begins at offset {first} of partition {partition}, and that record is not among "
            f"those that are found now; {again}"
        )
    return FindingRecords(found, expected - total)
