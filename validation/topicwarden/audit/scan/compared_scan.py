"""Compare records in the scan that counts them: the result is final if all of them were certainly committed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame

from topicwarden.audit.scan.compared_rows import ComparedRows, compare_rows
from topicwarden.audit.scan.compared_rules import compared_rules
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.reader_notes import last_gap, unread_reason
from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.model.record_rules import ReferenceRule
from topicwarden.model.subject import DeclaredSubjects
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas


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
