"""Read the records of a finding, repair them, and copy them in transactions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from topicwarden.audit.finding_records import FindingRecords
from topicwarden.extensions.redrive.redrive_report import CopyCounts
from topicwarden.extensions.redrive.redrive_target import RedriveTarget
from topicwarden.kafka.read.records_at_offsets import CommittedReader, CopiedSoFar, StoredRecord
from topicwarden.kafka.write.repair_function import RepairFunction
from topicwarden.kafka.write.transactional_copy import RecordCopy, TransactionalCopy
from topicwarden.model.finding import Finding
from topicwarden.model.problem import Refusal
from topicwarden.operations.progress_listener import ShareReport

HEADER: Final = "topicwarden.redrive."
"""The start of the names of the headers that say where a copy comes from."""

BATCH_RECORDS: Final = 500
_BATCH_BYTES: Final = 8 << 20
"""The size of a transaction: at most so many records, and about so many bytes of keys and values."""


@dataclass(frozen=True)
class FindingCopy:
    """The copy of the records ``found`` of ``finding`` to ``target``. ``name`` identifies it; see ``redrive_name``."""

    finding: Finding
    found: FindingRecords
    target: RedriveTarget
    repair: RepairFunction
    name: str

    def verify(self, done: Mapping[int, CopiedSoFar]) -> None:
        """Raise Refusal if records before the progress were not copied: the predicate did not match them then."""
        for partition, copied in done.items():
            passed = sum(offset < copied.offset for offset in self.found.offsets.get(partition, ()))
            if passed > copied.records:
                raise Refusal(
                    f"earlier runs have copied {copied.records:,} records before offset {copied.offset} of partition "
                    f"{partition}, and the finding has {passed:,} there: use another target"
                )

    def remaining(self, done: Mapping[int, CopiedSoFar]) -> dict[int, tuple[int, ...]]:
        """Return the offsets that are not copied, by partition."""
        first = {partition: copied.offset for partition, copied in done.items()}
        left = {
            partition: tuple(offset for offset in offsets if offset >= first.get(partition, 0))
            for partition, offsets in self.found.offsets.items()
        }
        return {partition: offsets for partition, offsets in left.items() if offsets}

    def rehearse(self, reader: CommittedReader, done: Mapping[int, CopiedSoFar]) -> CopyCounts:
        """Return what would be copied: every record is read, repaired and verified, and none is sent."""
        counts = CopyCounts()
        for offsets, records in self._batches(reader, self.remaining(done)):
            counts += self._batch(offsets, records)[1]
        return counts

    def copy(
        self,
        reader: CommittedReader,
        writer: TransactionalCopy,
        done: Mapping[int, CopiedSoFar],
        share: ShareReport = lambda _: None,
    ) -> CopyCounts:
        """Copy the records after ``done``; return what was copied. ``share`` receives the share that is done."""
        remaining, progress, counts = self.remaining(done), dict(done), CopyCounts()
        total, passed = sum(map(len, remaining.values())), 0
        for offsets, records in self._batches(reader, remaining):
            copies, batch = self._batch(offsets, records)
            progress = _advanced(progress, offsets)
            writer.write(copies, self.finding.topic, progress)
            counts, passed = counts + batch, passed + sum(map(len, offsets.values()))
            share(passed / total)
        return counts

    def _batches(
        self, reader: CommittedReader, remaining: Mapping[int, Sequence[int]]
    ) -> Iterator[tuple[dict[int, list[int]], list[StoredRecord]]]:
        """Yield the offsets of each transaction, also those of records that are gone, and the records."""
        for partition, offsets in sorted(remaining.items()):
            left, records, size = list(offsets), list[StoredRecord](), 0
            for record in reader.records(self.finding.topic, {partition: offsets}):
                records.append(record)
                size += record.size
                if len(records) >= BATCH_RECORDS or size >= _BATCH_BYTES:
                    passed = [offset for offset in left if offset <= record.offset]
                    left = left[len(passed) :]
                    yield {partition: passed}, records
                    records, size = [], 0
            if left:
                yield {partition: left}, records

    def _batch(
        self, offsets: Mapping[int, Sequence[int]], records: Sequence[StoredRecord]
    ) -> tuple[list[RecordCopy], CopyCounts]:
        copies = [copy for record in records if (copy := self._copy_of(record)) is not None]
        size = sum(len(copy.key or b"") + len(copy.value or b"") for copy in copies)
        gone = sum(map(len, offsets.values())) - len(records)
        return copies, CopyCounts(len(copies), size, len(records) - len(copies), gone)

    def _copy_of(self, record: StoredRecord) -> RecordCopy | None:
        repaired = self.repair(record)
        if repaired is None:
            return None
        origin = {
            "id": self.name,
            "finding": self.finding.id,
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
        }
        headers = [(HEADER + name, str(value).encode()) for name, value in origin.items()]
        return self.target.copy_of(record, repaired, headers)


def _advanced(progress: Mapping[int, CopiedSoFar], offsets: Mapping[int, Sequence[int]]) -> dict[int, CopiedSoFar]:
    """Return the progress after ``offsets``. It has all partitions, so that none expires before the others."""
    advanced = dict(progress)
    for partition, passed in offsets.items():
        before = advanced[partition].records if partition in advanced else 0
        advanced[partition] = CopiedSoFar(passed[-1] + 1, before + len(passed))
    return advanced
