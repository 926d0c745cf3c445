"""One audit: snapshot, one scan, every check on every topic."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from topicwarden import __version__
from topicwarden.audit.checks import CHECKS, READS_RECORDS
from topicwarden.audit.counts import Counts, Pair
from topicwarden.audit.facts import topic_facts
from topicwarden.audit.horizon import Horizon, PartitionOf, horizons
from topicwarden.audit.pairs import superseded_pairs
from topicwarden.audit.progress import Progress, watched
from topicwarden.audit.scan import scan, slices
from topicwarden.audit.subject import Judgement, Subject
from topicwarden.finding import AuditReport, Finding, Place, Verdict
from topicwarden.kafka.cluster import open_cluster
from topicwarden.kafka.connection import Connection
from topicwarden.kafka.snapshot import LiveTopic, Snapshot
from topicwarden.problem import Refusal
from topicwarden.specs.resolve import Declaration


@dataclass(frozen=True)
class Request:
    """What is to be audited: a stack's declarations against its cluster; ``patterns`` are globs of topic names."""

    stack: str
    connection: Connection
    declarations: tuple[Declaration, ...]
    patterns: tuple[str, ...] = ()

    def wants(self, topic: str) -> bool:
        return not self.patterns or any(fnmatchcase(topic, pattern) for pattern in self.patterns)


@dataclass(frozen=True)
class Evidence:
    """What the cluster was found to be, before anything is judged."""

    snapshot: Snapshot
    horizons: Mapping[PartitionOf, Horizon]
    counts: Mapping[PartitionOf, Counts]
    pairs: Mapping[PartitionOf, tuple[Pair, ...]]
    scan_seconds: float


def audit(spark: SparkSession, request: Request, progress: Progress) -> AuditReport:
    """Looks at the cluster and reads its topics once; refuses where the cluster or Spark gives up."""
    started = _now()
    evidence = _gather(spark, request, progress)
    declared = {held.topic.name: held for held in request.declarations if request.wants(held.topic.name)}
    live = {name: topic for name, topic in evidence.snapshot.topics.items() if request.wants(name)}
    names = sorted({*declared, *(name for name, topic in live.items() if name in declared or not topic.topic.internal)})
    subjects = {name: _subject(name, declared.get(name), live.get(name), evidence) for name in names}
    return AuditReport(
        topicwarden=__version__,
        stack=request.stack,
        cluster_id=evidence.snapshot.cluster_id,
        started=started,
        finished=_now(),
        scanned_records=sum(counts.records for counts in evidence.counts.values()),
        scan_seconds=round(evidence.scan_seconds, 3),
        topics=[topic_facts(name, subject) for name, subject in subjects.items()],
        findings=[
            finding for name, subject in subjects.items() for finding in _findings(name, subject, declared.get(name))
        ],
    )


def _gather(spark: SparkSession, request: Request, progress: Progress) -> Evidence:
    with open_cluster(request.connection) as cluster:
        snapshot = cluster.snapshot()
        wanted = [topic for name, topic in snapshot.topics.items() if request.wants(name) and not topic.topic.internal]
        borders = horizons(cluster, snapshot, wanted)
    parts, begun = slices(wanted, borders), time.monotonic()
    try:
        with watched(spark, progress):
            counts = scan(spark, request.connection, parts, snapshot.taken_at)
        scan_seconds = time.monotonic() - begun
        pairs = superseded_pairs(spark, request.connection, parts, counts)
    except (PySparkException, Py4JJavaError) as error:
        raise Refusal(f"the scan did not end: {_root_cause(error)}; is the cluster still there? audit again") from error
    return Evidence(snapshot, borders, counts, pairs, scan_seconds)


def _subject(name: str, declared: Declaration | None, live: LiveTopic | None, evidence: Evidence) -> Subject:
    partitions = range(live.topic.partitions) if live else range(0)
    return Subject(
        snapshot=evidence.snapshot,
        declared=declared.topic if declared else None,
        live=live,
        horizons={p: evidence.horizons[name, p] for p in partitions if (name, p) in evidence.horizons},
        counts={p: evidence.counts[name, p] for p in partitions if (name, p) in evidence.counts},
        pairs={p: evidence.pairs[name, p] for p in partitions if (name, p) in evidence.pairs},
    )


def _findings(name: str, subject: Subject, declaration: Declaration | None) -> Iterable[Finding]:
    unread = tuple(s.partition for s in subject.live.replicas if s.leader is None) if subject.live else ()
    for check_id, check in CHECKS.items():
        if not check.applies(subject):
            continue
        judgements = list(check.judge(subject))
        if unread and check_id in READS_RECORDS:
            judgements.append(
                Judgement(
                    Verdict.UNDECIDABLE,
                    "could not be read: no replica can lead",
                    partitions=unread,
                    remedy="bring back a broker that holds a replica",
                )
            )
        for judgement in judgements or [Judgement(Verdict.PASS, "")]:
            yield _finding(check_id, name, judgement, declaration)


def _finding(check_id: str, topic: str, judgement: Judgement, declaration: Declaration | None) -> Finding:
    place = declaration.places.at(judgement.path) if declaration else None
    return Finding(
        check=check_id,
        verdict=judgement.verdict,
        topic=topic,
        partitions=list(judgement.partitions),
        message=judgement.message,
        because=list(judgement.because),
        remedy=judgement.remedy,
        evidence=dict(judgement.evidence),
        place=Place(file=place.file, line=place.line, column=place.column) if place else None,
    )


def _root_cause(error: Exception) -> str:
    """What went wrong first: Spark wraps a task's failure several times, with a stack trace in each message."""
    cause = error.java_exception if isinstance(error, Py4JJavaError) else None
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    said = str(error) if cause is None else str(cause.getMessage() or cause.getClass().getName())
    return said.strip().partition("\n")[0]


def _now() -> int:
    return int(time.time() * 1000)
