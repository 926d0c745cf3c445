"""Choose where the records of a finding go, read and repair them, and copy them in transactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from topicwarden.audit.finding_records import FindingRecords
from topicwarden.extensions.redrive.redrive_report import CopyCounts
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.partition_functions import PARTITIONERS
from topicwarden.kafka.read.records_at_offsets import PROGRESS_GROUP, CommittedReader, CopiedSoFar, StoredRecord
from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.kafka.write.transactional_copy import RecordCopy, RepairFunction, TransactionalCopy
from topicwarden.model.access import ANY_PRINCIPAL
from topicwarden.model.finding import Finding
from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Refusal
from topicwarden.model.topic import Topic
from topicwarden.operations.operation_options import ShareReport

_DEFAULT_PARTITIONER: Final = "murmur2"


@dataclass(frozen=True)
class RedriveTarget:
    """The topic that receives the copies: as declared, as it is, and the number of partitions of the source."""

    declared: Topic
    live: LiveTopic
    source_partitions: int

    @property
    def name(self) -> str:
        return self.declared.name

    def copy_of(self, source: StoredRecord, repaired: StoredRecord, headers: Iterable[tuple[str, bytes]]) -> RecordCopy:
        """Return the copy of ``repaired``, which is ``source`` as the repair function returned it.

        ``headers`` say where it comes from. Raises Refusal if the declaration of the target does not allow the record.
        """
        kept = [(name, value) for name, value in repaired.headers if value is not None]
        if len(kept) < len(repaired.headers):
            raise Refusal(
                f"{source.location}: the record has a header without a value, which kafka-python cannot write: "
                "remove it with --with"
            )
        if problem := self._problem(repaired):
            raise Refusal(f"{source.location}: {self.name} does not allow the record: {problem}")
        partition = self._partition(source, repaired)
        return RecordCopy(source.location, partition, source.timestamp, repaired.key, repaired.value, (*kept, *headers))

    def _problem(self, record: StoredRecord) -> str | None:
        contents = self.declared.contents
        if record.key is None and (self.live.topic.compacted or self.declared.compacted):
            return "it has no key, and the topic is compacted"
        if record.key is None and contents.key.required:
            return "it has no key, and contents.key.required is true"
        most = contents.records.max_bytes
        if most is not None and record.size > most:
            return f"expected at most {most:,} bytes (contents.records.max_bytes), got {record.size:,}"
        names = {name for name, _ in record.headers}
        missing = [name for name in contents.headers.required or () if name not in names]
        return f"it lacks the header {quoted(missing[0])} (contents.headers.required)" if missing else None

    def _partition(self, source: StoredRecord, repaired: StoredRecord) -> int:
        """Return the source's partition if both topics have as many and the key is unchanged; else that of the key."""
        number = self.live.topic.partitions
        if number == self.source_partitions and repaired.key == source.key:
            return source.partition
        if repaired.key is None:
            return source.partition % number
        key = self.declared.contents.key
        if key.partition_expression or key.partition_function:
            raise Refusal(
                f"{source.location}: {self.name} declares a partitioner of its own, so the partition of the key is not "
                f"known: use a target with {self.source_partitions} partitions, and keep the keys"
            )
        return PARTITIONERS[key.partitioner or _DEFAULT_PARTITIONER](repaired.key, number)

    @property
    def unverified(self) -> str | None:
        """The declared contents that the redrive does not verify, as a remark; None if there are none."""
        contents = self.declared.contents
        parts = [part for part in ("key", "value") if contents.encoding(part).format is not None]
        rules = [f"{part}s" for part in parts] + (["expressions"] if contents.expressions else [])
        if not rules:
            return None
        return f"not verified: {' and '.join(rules)} of the copies; audit {self.name} afterwards"


def allowed_target(target: Topic, connection: Connection, transactional_id: str) -> str | None:
    """Return a remark if brokers alone decide whether this user may write to the topic; None if the YAML allows it.

    Raises Refusal if the YAML declares other producers.
    """
    grants = target.access.produce
    if not grants:
        return f"{target.name} declares no producers (access.produce): the brokers decide whether this user may write"
    if connection.username is None or connection.aws is not None:
        return (
            "the principal of this user is not known from the settings of the stack: the brokers decide whether it is "
            f"a producer of {target.name}"
        )
    principal = f"User:{connection.username}"
    own = [grant for grant in grants if grant.principal in (principal, ANY_PRINCIPAL)]
    if not own:
        declared = ", ".join(sorted({grant.principal for grant in grants}))
        raise Refusal(
            f"{target.name} is not written by {principal}: expected it among the declared producers (access.produce), "
            f"got {declared}; add {{principal: {principal}, transactional_id: {PROGRESS_GROUP}, prefix: true}}"
        )
    for grant in own:
        if grant.name == transactional_id or (grant.prefix and transactional_id.startswith(grant.name or "")):
            return None
    return (
        f"no declared producer of {target.name} has the transactional id {PROGRESS_GROUP}* (prefix: true): the brokers "
        "decide whether this user may use it"
    )


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
