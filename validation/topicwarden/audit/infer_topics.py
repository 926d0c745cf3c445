"""Infer the contracts of topics from their retained committed records, in one Spark scan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from topicwarden.audit.inference.inferred_contents import InferredContents, infer_contents
from topicwarden.audit.inference.inferred_rule import LEAST_RECORDS, InferenceContext
from topicwarden.audit.inference.rules import MAX_LATE
from topicwarden.audit.inference.topic_summary import Tally, TopicSummary
from topicwarden.audit.scan.contracts import Contracts, build_contracts
from topicwarden.audit.scan.inference import ScannedTopic, summarize
from topicwarden.audit.scan.java_errors import remedy, root_cause
from topicwarden.audit.scan.partition_reads import committed_size, newest_committed
from topicwarden.audit.scan.progress import Progress, report_progress
from topicwarden.audit.scan.reader_notes import merge_faults, unread_reason
from topicwarden.audit.scan.spark_source import SparkSource
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.kafka.read.transactions import TopicProducers
from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.read import registered_versions
from topicwarden.kafka.registry.registry_error import RegistryError
from topicwarden.model.contents import Contents
from topicwarden.model.problem import Refusal
from topicwarden.model.subject import NO_SUBJECTS, DeclaredSubjects
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.stacks.registry_settings import RegistrySettings

_LATE = "timestamp-late"
_EVERYTHING = 2**62


@dataclass(frozen=True)
class InferenceRequest:
    """The topics to infer the contracts of, and how.

    ``declarations`` are the declared ones among them, by name, whose contracts the records are compared with; ``root``
    is the project's folder. ``most_records`` limits the offsets to read; None reads all. ``records_needed`` is what a
    rule rests on at least. With ``shows_values``, contracts have values of records. Fields with one of
    ``personal_names`` look like personal data.
    """

    connection: Connection
    topics: tuple[str, ...]
    registry: RegistrySettings | None = None
    declarations: Mapping[str, Declaration] | None = None
    root: Path = Path()
    subjects: DeclaredSubjects = NO_SUBJECTS
    most_records: int | None = None
    records_needed: int = LEAST_RECORDS
    shows_values: bool = False
    personal_names: frozenset[str] = frozenset()

    def compared_with(
        self, root: Path, declared: Mapping[str, Declaration], subjects: DeclaredSubjects
    ) -> InferenceRequest:
        """Return the request that also finds the records that break what is ``declared`` in the project at ``root``."""
        return replace(self, root=root, declarations=declared, subjects=subjects)


@dataclass(frozen=True)
class BrokenContract:
    """The records that break a declared rule: the check, the reason, and the count with the first record."""

    rule: str
    reason: str
    records: Tally


@dataclass(frozen=True)
class TopicInference:
    """The inferred contract of one topic; ``unread`` says why there is none.

    ``retained`` is the number of retained committed offsets; ``read`` the number of those that were read.
    """

    topic: str
    inferred: InferredContents | None = None
    retained: int = 0
    read: int = 0
    broken: tuple[BrokenContract, ...] = ()
    unread: str = ""

    @property
    def failed(self) -> bool:
        """True if there are records, and they could not be read."""
        return bool(self.unread and self.retained and not self.read)


def infer_topics(
    spark: SparkSource, cluster: Cluster, snapshot: Snapshot, request: InferenceRequest, progress: Progress
) -> dict[str, TopicInference]:
    """Return the inference of each topic of ``request``, which the ``snapshot`` of ``cluster`` has.

    Raises Refusal if the scan failed.
    """
    live = [snapshot.topics[name] for name in request.topics]
    ranges = newest_committed(live, request.most_records or _EVERYTHING)
    scanned: dict[str, ScannedTopic] = {}
    if ranges:
        contracts = _contracts(request, live, snapshot.taken_at)
        partitions = {each.topic.name: each.topic.partitions for each in live}
        try:
            session = spark()
            with report_progress(session, progress, sum(each.size for each in ranges)):
                scanned = summarize(
                    session,
                    request.connection,
                    ranges,
                    contracts,
                    partitions,
                    shows_values=request.shows_values,
                    personal_names=request.personal_names,
                )
        except (PySparkException, Py4JJavaError) as error:
            raise Refusal(f"the scan failed: {root_cause(error)}; {remedy(error)}") from error
    producers = cluster.producers({each.topic.name: each for each in live})
    read = Counter[str]()
    for each in ranges:
        read[each.topic] += each.size
    return {
        (name := each.topic.name): _infer(
            each, read[name], scanned.get(name), producers[name], read_at=snapshot.taken_at, request=request
        )
        for each in live
    }


def _contracts(request: InferenceRequest, live: Iterable[LiveTopic], now: int) -> Contracts:
    """Return the declared contracts, with the lateness that the inference tries for the topics that declare none."""
    declared = build_contracts(
        live, request.declarations or {}, request.root, request.registry, now, subjects=request.subjects
    )
    terms: dict[str, dict[str, Any]] = {}
    for each in live:
        own = declared.topics.get(each.topic.name, {})
        terms[each.topic.name] = {"late": MAX_LATE, **{name: own[name] for name in ("late", "records") if name in own}}
    return replace(declared, topics=terms)


def _infer(
    live: LiveTopic,
    read: int,
    scanned: ScannedTopic | None,
    producers: TopicProducers,
    *,
    read_at: int,
    request: InferenceRequest,
) -> TopicInference:
    name, retained = live.topic.name, sum(map(committed_size, live.extents.values()))
    for partition, notes in sorted(scanned.notes.items() if scanned else ()):
        if reason := unread_reason(notes):
            return TopicInference(name, retained=retained, unread=f"partition {partition} could not be read: {reason}")
    if scanned is None or scanned.summary is None:
        return TopicInference(name, retained=retained, read=read, unread="it has no committed records that can be read")
    summary = TopicSummary.from_json(scanned.summary)
    declaration = (request.declarations or {}).get(name)
    max_late = declaration.topic.contents.timestamps.max_late if declaration else None
    faults = _faults(scanned, MAX_LATE if max_late is None else max_late)
    late = next((each.records for each in faults if each.rule == _LATE), None)
    context = InferenceContext(
        read_at=read_at,
        partition_count=live.topic.partitions,
        whole=read == retained and len(live.extents) == live.topic.partitions,
        producers=None if producers.missing else len(producers.last_written) or None,
        late=f"at least {late.among(summary.records)}" if late else "",
        registered=_registered(name, summary, request.registry),
        records_needed=request.records_needed,
        shows_values=request.shows_values,
    )
    broken = broken_contract(declaration.topic.contents, summary, faults) if declaration else ()
    return TopicInference(name, infer_contents(summary, context), retained, read, broken)


def broken_contract(
    declared: Contents, summary: TopicSummary, faults: Iterable[BrokenContract]
) -> tuple[BrokenContract, ...]:
    """Return the rules of the ``declared`` contents that records break.

    ``faults`` are those that the reader has found; it counts records without a key in the ``summary`` only.
    """
    missing = summary.key.nulls
    keyless = [BrokenContract("null-key", "no key", missing)] if declared.key.required and missing.count else []
    judged = (each for each in faults if each.rule != _LATE or declared.timestamps.max_late is not None)
    return (*keyless, *judged)


def _faults(scanned: ScannedTopic, max_late: int) -> list[BrokenContract]:
    """Return the faults of all partitions, by rule and reason."""
    found: dict[tuple[str, str], Tally] = {}
    for partition, notes in sorted(scanned.notes.items()):
        for fault in merge_faults(notes, max_late):
            if not fault.undecided:
                before = found.get((fault.rule, fault.reason), Tally(0, partition, min(fault.offsets, default=0)))
                found[fault.rule, fault.reason] = replace(before, count=before.count + fault.count)
    return [BrokenContract(rule, reason, records) for (rule, reason), records in sorted(found.items())]


def _registered(
    topic: str, summary: TopicSummary, registry: RegistrySettings | None
) -> dict[str, dict[int, str] | str]:
    """Return the format by schema id of the subjects of the topic, for parts that look like the wire format.

    A text says why the registry does not tell the formats of a part.
    """
    found: dict[str, dict[int, str] | str] = {}
    for part in _in_wire_format(summary) if registry else ():
        assert registry is not None
        try:
            with RegistryClient(registry) as client:
                versions = registered_versions(client, f"{topic}-{part}")
        except RegistryError as error:
            found[part] = str(error)
        else:
            found[part] = {version.id: version.schema.format for version in versions}
    return found


def _in_wire_format(summary: TopicSummary) -> Collection[str]:
    parts = {part: summary.encoded(part) for part in ("key", "value")}
    return [part for part, each in parts.items() if each.schema_ids and not each.missed("registry").count]
