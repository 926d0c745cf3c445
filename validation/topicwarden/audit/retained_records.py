"""Find the retained records that consumers cannot read with a new schema.

All topics are read in one scan, with the reader of the audit but without Spark, by
``isolation.level=read_committed``: records of aborted and open transactions, and control records, are never counted.
``NewSchema.java`` judges the records. What fails is exactly what fails in a consumer:

- Avro: Avro's own reader resolves the schema of the writer, by the id in the record, to the new schema. So only records
  with a part that cannot be resolved count, such as an enum symbol that the new schema does not have.
- JSON Schema: the document is valid by the schema of its writer, and not by the new one.
- Protocol Buffers: the record does not parse as the message type of the same name (or else the declared one) of the new
  schema, because a required field is missing (proto2), a string is not UTF-8 (proto3), nested data is invalid, or the
  message type is gone. Fields with another wire type are unknown fields, and fail in no consumer.

A record counts only if the new schema is the reason: consumers can read it by the schema of its writer. Records of
its earlier subjects count, too: of the names that other naming strategies give, and of a name that it replaces. Records
of other subjects, of unknown schema ids, without the wire format, or cut off are ``unaffected``. Records are
``undecided`` if the registry does not answer, if a header names their schema, if a rule of it encrypts them, or if they
are beyond the limits of the audit. Keys and values that are null have no schema.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from topicwarden.audit.collect.horizon import NO_BORDERS, TopicPartition
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.counts import ContentFault, PartitionCounts
from topicwarden.audit.scan.merge import counts_by_partition
from topicwarden.audit.scan.partition_reads import PartitionRead, committed_size, counting_options, newest_committed
from topicwarden.audit.scan.reader_process import read_totals
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.model.readability import Readability, SchemaScan, UnreadablePartition
from topicwarden.specs.record_schemas.protobuf import ProtoError, compile_proto
from topicwarden.specs.stacks.registry_settings import RegistrySettings

MOST_RECORDS: Final = 10_000_000
"""The most records that are read for one plan, over all topics.

They take 4 to 8 s on two idle cores, and a minute on cores that are busy (``benchmarks/new_schema.py``).
"""

_NO_REGISTRY: Final = "the stack has no Schema Registry (topicwarden:schemaRegistry)"


class ReaderRecords:
    """Reads retained records with the reader of the audit; implements ``RetainedRecords``.

    At most ``most_records`` records are read: all of the small topics, and the newest of each partition of the large
    ones.
    """

    def __init__(
        self,
        connection: Connection,
        registry: RegistrySettings | None,
        project: Project | None = None,
        *,
        most_records: int = MOST_RECORDS,
    ) -> None:
        self._connection, self._registry, self._project = connection, registry, project
        self._most = most_records

    def read(self, scans: Sequence[SchemaScan]) -> tuple[Readability, ...]:
        """Return the result of each scan, in the same order. Nothing is raised for what cannot be read."""
        if not scans:
            return ()
        if self._registry is None:
            return _failed(scans, _NO_REGISTRY)
        try:
            return self._read(scans, self._registry)
        except (Refusal, OSError) as error:
            return _failed(scans, str(error) if isinstance(error, Refusal) else f"the scan failed: {error}")

    def _read(self, scans: Sequence[SchemaScan], registry: RegistrySettings) -> tuple[Readability, ...]:
        """Return the result of each scan. Raises what ``read_totals`` and ``open_cluster`` do."""
        topics = sorted({each.topic for each in scans})
        with open_cluster(self._connection) as cluster:
            snapshot = cluster.snapshot(topics, expected=topics)
        results = {number: found for number, each in enumerate(scans) if (found := _unread(each, snapshot))}
        contracts, errors = _contracts(
            {number: each for number, each in enumerate(scans) if number not in results}, registry
        )
        results |= {number: _failed([scans[number]], error)[0] for number, error in errors.items()}
        live = [snapshot.topics[name] for name in sorted(contracts.topics)]
        reads = _reads(live, self._most)
        counts: Mapping[TopicPartition, PartitionCounts] = {}
        if reads:
            totals = read_totals(
                self._project or find_project(),
                self._connection,
                [read.range for read in reads],
                contracts,
                counting_options(reads, contracts, snapshot.taken_at, ()),
            )
            counts = counts_by_partition(reads, totals, contracts)
        by_topic: dict[str, list[PartitionRead]] = {}
        for read in reads:
            by_topic.setdefault(read.range.topic, []).append(read)
        for number, each in enumerate(scans):
            if number not in results:
                topic = snapshot.topics[each.topic]
                results[number] = _result(number, each, topic, by_topic.get(each.topic, []), counts)
        return tuple(results[number] for number in range(len(scans)))


def _failed(scans: Iterable[SchemaScan], error: str) -> tuple[Readability, ...]:
    return tuple(Readability(each.topic, each.part, error=error) for each in scans)


def _unread(requested: SchemaScan, snapshot: Snapshot) -> Readability | None:
    """Return the result for a topic that does not exist, or that this user may not see; else None."""
    if requested.topic in snapshot.hidden:
        return _failed([requested], "this user may not describe the topic (Describe on the topic)")[0]
    return None if requested.topic in snapshot.topics else Readability(requested.topic, requested.part)


def _contracts(scans: Mapping[int, SchemaScan], registry: RegistrySettings) -> tuple[Contracts, dict[int, str]]:
    """Return the new schemas by topic, as ``NewSchema.java`` takes them, and why others do not compile."""
    schemas: dict[str, list[dict[str, Any]]] = {}
    errors: dict[int, str] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # a process compiles each schema of Protocol Buffers
        compiled = pool.map(_compiled, scans.values())
    for (number, each), schema in zip(scans.items(), compiled, strict=True):
        if isinstance(schema, str):
            errors[number] = schema
        else:
            parts = {"id": str(number), "part": each.part, "subjects": [each.subject, *each.earlier]}
            schemas.setdefault(each.topic, []).append(parts | schema)
    topics = {topic: {"records": {"new_schemas": each}} for topic, each in schemas.items()}
    return Contracts(topics, registry), errors


def _compiled(requested: SchemaScan) -> dict[str, Any] | str:
    """Return the format and the text or the descriptors of a new schema, or why it cannot be used."""
    schema, references = requested.schema, requested.references
    if schema.format != "protobuf":
        return {"format": schema.format, "schema": schema.text, "references": dict(references)}
    try:
        descriptors = compile_proto(schema.text, tuple(references.items()))
    except ProtoError as error:
        return f"the new schema {error}"
    except OSError as error:
        return f"the new schema could not be compiled: {error}"
    found = {"format": schema.format, "descriptors": b64encode(descriptors).decode()}
    return found | ({"message": requested.message} if requested.message else {})


def _reads(topics: Iterable[LiveTopic], most_records: int) -> list[PartitionRead]:
    return [PartitionRead(each, compacted=False, horizon=NO_BORDERS) for each in newest_committed(topics, most_records)]


def _result(
    number: int,
    requested: SchemaScan,
    live: LiveTopic,
    reads: Sequence[PartitionRead],
    counts: Mapping[TopicPartition, PartitionCounts],
) -> Readability:
    """Return the result of the scan with this ``number``."""
    reasons, undecided, unaffected = Counter[str](), Counter[str](), Counter[str]()
    partitions, scanned, offsets, unread = [], 0, 0, list[str]()
    for read in reads:
        counted = counts.get(read.topic_partition, PartitionCounts(unread="the reader returned no counts"))
        faults = [fault for fault in counted.faults if fault.rule in (f"unreadable:{number}", f"unaffected:{number}")]
        broken = [fault for fault in faults if fault.rule.startswith("unreadable") and not fault.undecided]
        partitions += [_partition(read.range.partition, broken)] if broken else []
        for fault in faults:
            affected = reasons if fault in broken else undecided if fault.undecided else unaffected
            affected[fault.reason] += fault.count
        scanned += counted.records
        offsets += read.range.size
        if counted.unread:
            left = max(0, read.range.size - counted.records)
            unread.append(f"partition {read.range.partition} was not read to its end: {counted.unread}")
            undecided[unread[-1]] += left
    leaderless = [state.partition for state in live.replicas if state.partition not in live.extents]
    for partition in leaderless:
        undecided[f"partition {partition} has no leader, so its records could not be read"] += 0
    if unread and not scanned and len(unread) == len(reads):
        return _failed([requested], unread[0])[0]
    if leaderless and not live.extents:
        return _failed([requested], "no partition has a leader")[0]
    not_read = sum(map(committed_size, live.extents.values())) - offsets
    incomplete = sum(undecided[reason] for reason in unread)
    return Readability(
        requested.topic,
        requested.part,
        retained=scanned + not_read + incomplete,
        scanned=scanned,
        partitions=tuple(sorted(partitions, key=lambda each: each.partition)),
        reasons=dict(reasons.most_common()),
        undecided=dict(undecided),
        unaffected=dict(unaffected.most_common()),
    )


def _partition(partition: int, faults: Sequence[ContentFault]) -> UnreadablePartition:
    return UnreadablePartition(
        partition,
        records=sum(fault.count for fault in faults),
        first_offset=min(offset for fault in faults for offset in fault.offsets),
        last_offset=max(fault.last_offset for fault in faults if fault.last_offset is not None),
        newest=max((fault.newest for fault in faults if fault.newest is not None), default=None),
    )
