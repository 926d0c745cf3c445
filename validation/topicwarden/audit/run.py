"""One audit: the evidence, every check on every topic, and what becomes of what the last audit suspected."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from topicwarden import __version__
from topicwarden.audit import compare_audits
from topicwarden.audit.gather import AuditEvidence, gather
from topicwarden.audit.history.audit_history import AuditHistory
from topicwarden.audit.history.outcomes import trend
from topicwarden.audit.history.topic_state import PreviousAudit
from topicwarden.audit.judge import findings, judge
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.scan.progress import Progress
from topicwarden.audit.subject import AuditedTopic
from topicwarden.audit.topic_facts import topic_facts
from topicwarden.kafka.snapshot import LiveTopic
from topicwarden.model.finding import AuditReport
from topicwarden.specs.resolve import Declaration


def audit(spark: SparkSession, request: AuditRequest, progress: Progress) -> AuditReport:
    """Looks at the cluster and reads its topics once.

    Refuses a history that the executors do not share, and a cluster or Spark that gives up.
    """
    started = _now()
    history = AuditHistory(spark, request.history)
    history.require_shared()
    evidence = gather(spark, request, progress, history)
    declared = {held.topic.name: held for held in request.declarations if request.wants(held.topic.name)}
    live = {name: topic for name, topic in evidence.snapshot.topics.items() if request.wants(name)}
    names = sorted({*declared, *live})
    subjects = {name: _subject(name, declared.get(name), live.get(name), evidence) for name in names}
    judged = {name: judge(subject) for name, subject in subjects.items()}
    looks = [
        compare_audits.look(
            subject,
            judged[name],
            [one for p in subject.counts for one in evidence.deleted.get((name, p), ())],
            {p: known for p in subject.counts if (known := evidence.known.get((name, p))) is not None},
        )
        for name, subject in subjects.items()
    ]
    records = sum(counts.records for counts in evidence.counts.values())
    report = AuditReport(
        topicwarden=__version__,
        stack=request.stack,
        cluster_id=evidence.snapshot.cluster_id,
        started=started,
        finished=_now(),
        scanned_records=evidence.read,
        scan_seconds=round(evidence.scan_seconds, 3),
        topics=[topic_facts(name, subject) for name, subject in subjects.items()],
        findings=[found for name in names for found in findings(name, judged[name], declared.get(name))],
        settled=[one for name, subject in subjects.items() for one in compare_audits.settled(subject, judged[name])],
        read=request.since,
        coverage=evidence.coverage,
        remembered_records=max(0, records - evidence.read),
    )
    with ThreadPoolExecutor(1) as beside:  # what both wait for is Spark, and files
        remembered = beside.submit(history.save, [look for look in looks if look is not None], started)
        past = trend(spark, history, report, request.patterns)
        remembered.result()
    return report.model_copy(update={"trend": past, "notes": sorted(history.notes)})


def _subject(name: str, declared: Declaration | None, live: LiveTopic | None, evidence: AuditEvidence) -> AuditedTopic:
    partitions = range(live.topic.partitions) if live else range(0)
    return AuditedTopic(
        snapshot=evidence.snapshot,
        declared=declared.topic if declared else None,
        live=live,
        horizons={p: evidence.horizons[name, p] for p in partitions if (name, p) in evidence.horizons},
        counts={p: evidence.counts[name, p] for p in partitions if (name, p) in evidence.counts},
        committed={p: evidence.committed[name, p] for p in partitions if (name, p) in evidence.committed},
        pairs={p: evidence.pairs[name, p] for p in partitions if (name, p) in evidence.pairs},
        past=_past(name, live, evidence),
        placement=evidence.placements.get(name),
        reading={p: evidence.reading[name, p] for p in partitions if (name, p) in evidence.reading},
        coverage=evidence.coverage,
        internal=evidence.around.internal.get(name),
        following=evidence.around.consumer_groups.get(name),
        readable=name not in evidence.around.unreadable,
    )


def _past(name: str, live: LiveTopic | None, evidence: AuditEvidence) -> PreviousAudit:
    look = evidence.looks.get(name)
    if live is None or look is None:
        return PreviousAudit()
    if look.topic_id != live.id:
        return PreviousAudit(recreated_from=look.topic_id)
    standing = (evidence.standing.get((name, partition), frozenset()) for partition in range(live.topic.partitions))
    return PreviousAudit(look, still_present=frozenset().union(*standing))


def _now() -> int:
    return int(time.time() * 1000)
