"""Find the retained records that consumers cannot read with a new schema.

All topics are read in one Spark scan, with the reader of the audit, by ``isolation.level=read_committed``: records of
aborted and open transactions, and control records, are never counted. ``NewSchema.java`` judges the records. What fails
is exactly what fails in a consumer:

- Avro: Avro's own reader resolves the schema of the writer, by the id in the record, to the new schema. So only records
  with a part that cannot be resolved count, such as an enum symbol that the new schema does not have.
- JSON Schema: the document is valid by the schema of its writer, and not by the new one.
- Protocol Buffers: the record does not parse as the message type of the same name (or else the declared one) of the new
  schema, because a required field is missing (proto2), a string is not UTF-8 (proto3), nested data is invalid, or the
  message type is gone. Fields with another wire type are unknown fields, and fail in no consumer.

A record counts only if the new schema is the reason: consumers can read it by the schema of its writer. Records of
its earlier subjects count, too: of the names that other naming strategies give, and of a name that it replaces. Records
of other subjects, of unknown schema ids, without the wire format, or cut off are ``unaffected``. Records are
``undecided`` if the registry does not answer, or if they are beyond the limits of the audit. Keys and values that are
null have no schema.
"""

from __future__ import annotations

import os
import pickle
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from topicwarden.audit.collect.horizon import NO_BORDERS, TopicPartition
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.counts import ContentFault, PartitionCounts
from topicwarden.audit.scan.full_scan import scan
from topicwarden.audit.scan.java_errors import root_cause
from topicwarden.audit.scan.newest_committed import committed_size, newest_committed
from topicwarden.audit.scan.offset_ranges import READ_COMMITTED
from topicwarden.audit.scan.partition_reads import PartitionRead
from topicwarden.audit.scan.progress import Progress, report_progress
from topicwarden.audit.scan.spark_session import session_on_demand
from topicwarden.audit.scan.spark_source import SparkSource, source_of
from topicwarden.child_processes import run
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.model.readability import Readability, SchemaScan, UnreadablePartition
from topicwarden.record_schemas.protobuf import ProtoError, compile_proto
from topicwarden.scratch_folder import scratch_folder
from topicwarden.stacks.registry_settings import RegistrySettings

MOST_RECORDS: Final = 10_000_000
"""The most records that are read for one plan, over all topics.

They take 4 to 8 s on two idle cores, and a minute on cores that are busy (``benchmarks/new_schema.py``).
"""

_NO_REGISTRY: Final = "the stack has no Schema Registry (topicwarden:schemaRegistry)"
_PROGRESS: Final = "progress "


class SparkRecords:
    """Reads retained records with Spark; implements ``RetainedRecords``.

    ``progress`` receives the share that is done, and ``note`` lines about waits. At most ``most_records`` records are
    read: all of the small topics, and the newest of each partition of the large ones. ``spark`` is a session to use;
    by default, Spark runs in a process of its own, which ends with the scan. That process has none of the threads of
    the caller, such as those of gRPC in a Pulumi program, and gives its memory back.
    """

    def __init__(
        self,
        connection: Connection,
        registry: RegistrySettings | None,
        project: Project | None = None,
        *,
        progress: Progress | None = None,
        note: Callable[[str], None] = lambda _: None,
        most_records: int = MOST_RECORDS,
        spark: SparkSession | SparkSource | None = None,
    ) -> None:
        self._connection, self._registry, self._project = connection, registry, project
        self._progress, self._note, self._most, self._spark = progress, note, most_records, spark

    def read(self, scans: Sequence[SchemaScan]) -> tuple[Readability, ...]:
        """Return the result of each scan, in the same order. Nothing is raised for what cannot be read."""
        if not scans:
            return ()
        if self._registry is None:
            return _failed(scans, _NO_REGISTRY)
        request = _Request(self._connection, self._registry, tuple(scans), self._most)
        try:
            if self._spark is not None:
                return _read(source_of(self._spark), request, self._progress)
            return _read_in_process(request, self._project or find_project(), self._progress, self._note)
        except (Refusal, PySparkException, Py4JError, OSError) as error:
            return _failed(scans, _reason(error))


@dataclass(frozen=True)
class _Request:
    connection: Connection
    registry: RegistrySettings
    scans: tuple[SchemaScan, ...]
    most_records: int


def _failed(scans: Iterable[SchemaScan], error: str) -> tuple[Readability, ...]:
    return tuple(Readability(each.topic, each.part, error=error) for each in scans)


def _reason(error: Exception) -> str:
    if isinstance(error, Refusal):
        return str(error)
    return f"the scan failed: {root_cause(error)}"


def _read_in_process(
    request: _Request, project: Project, progress: Progress | None, note: Callable[[str], None]
) -> tuple[Readability, ...]:
    """Return the results of a child process. Its folder, which only this user can read, has the credentials."""
    with scratch_folder() as folder:
        (folder / "request").write_bytes(pickle.dumps((project, request)))

        def on_line(line: str) -> None:
            if line.startswith(_PROGRESS) and progress is not None:
                progress(float(line.removeprefix(_PROGRESS)))
            elif line.startswith("note "):
                note(line.removeprefix("note ").rstrip())

        command = [sys.executable, "-m", __name__, str(folder)]
        done = run(command, project.root, os.environ, on_line=on_line)
        if not (folder / "results").is_file():
            last = next((line for line in reversed(done.stdout.splitlines()) if line.strip()), "no output")
            return _failed(request.scans, f"the scan ended with exit code {done.returncode}: {last.strip()[:300]}")
        results: tuple[Readability, ...] = pickle.loads((folder / "results").read_bytes())
    return results


def main(folder: Path) -> None:
    """Read what the parent process has written into ``folder``, and write the results there."""
    project, request = pickle.loads((folder / "request").read_bytes())

    def progress(share: float) -> None:
        print(f"{_PROGRESS}{share:.4f}", flush=True)

    def note(line: str) -> None:
        print(f"note {line}", flush=True)

    with ExitStack() as resources:
        spark = session_on_demand(resources, project, None, note)
        try:
            results = _read(spark, request, progress)
        except (Refusal, PySparkException, Py4JError, OSError) as error:
            results = _failed(request.scans, _reason(error))
        partial = folder / "partial"
        partial.write_bytes(pickle.dumps(results))
        partial.rename(folder / "results")


def _read(spark: SparkSource, request: _Request, progress: Progress | None) -> tuple[Readability, ...]:
    """Return the result of each scan. Raises what Spark and ``open_cluster`` do."""
    topics = sorted({each.topic for each in request.scans})
    with open_cluster(request.connection) as cluster:
        snapshot = cluster.snapshot(topics, expected=topics)
    results = {number: found for number, each in enumerate(request.scans) if (found := _unread(each, snapshot))}
    contracts, errors = _contracts(request, [number for number in range(len(request.scans)) if number not in results])
    results |= {number: _failed([request.scans[number]], error)[0] for number, error in errors.items()}
    live = [snapshot.topics[name] for name in sorted(contracts.topics)]
    reads = _reads(live, request.most_records)
    counts: Mapping[TopicPartition, PartitionCounts] = {}
    if reads:
        session = spark()
        offsets = sum(read.range.size for read in reads)
        with report_progress(session, progress, offsets) if progress else nullcontext():
            counts = scan(session, request.connection, reads, snapshot.taken_at, contracts, consumer=READ_COMMITTED)
    by_topic: dict[str, list[PartitionRead]] = {}
    for read in reads:
        by_topic.setdefault(read.range.topic, []).append(read)
    for number, each in enumerate(request.scans):
        if number not in results:
            topic = snapshot.topics[each.topic]
            results[number] = _result(number, each, topic, by_topic.get(each.topic, []), counts)
    return tuple(results[number] for number in range(len(request.scans)))


def _unread(requested: SchemaScan, snapshot: Snapshot) -> Readability | None:
    """Return the result for a topic that does not exist, or that this user may not see; else None."""
    if requested.topic in snapshot.hidden:
        return _failed([requested], "this user may not describe the topic (Describe on the topic)")[0]
    return None if requested.topic in snapshot.topics else Readability(requested.topic, requested.part)


def _contracts(request: _Request, numbers: Iterable[int]) -> tuple[Contracts, dict[int, str]]:
    """Return the new schemas by topic, as ``NewSchema.java`` takes them, and why others do not compile."""
    scans = {number: request.scans[number] for number in numbers}
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
    return Contracts(topics, request.registry), errors


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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
