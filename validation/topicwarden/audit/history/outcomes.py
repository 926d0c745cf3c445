"""How earlier audits ended: a row an audit, kept by what was audited, so that like is compared with like.

::

    v3/outcomes/<what>/<started>-<uuid>/   a Parquet file: a row an audit, this one and the ones before it

Each audit repeats those before it, so that few files are read; the latest few are brought together, as of two
audits at once neither knows of the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from topicwarden.audit.history.audit_history import AuditHistory
from topicwarden.audit.history.store import HistoryStore, Unreadable, part_name
from topicwarden.audit.scan.literal_rows import literal
from topicwarden.model.finding import AuditReport, Finding, PastAudit
from topicwarden.model.verdict import BY_WEIGHT, Verdict

MOST = 60
"""Audits that are remembered, of one stack and one choice of topics."""

_PARTS = 3
_OUTCOME = "started long, topics map<string,long>"


def trend(spark: SparkSession, history: AuditHistory, report: AuditReport, patterns: Iterable[str]) -> list[PastAudit]:
    """The earlier audits of the same topics (cluster, stack and ``patterns``), the oldest first; and adds this one."""
    store = history.store
    if store is None or report.cluster_id is None:
        return []
    what = "\0".join([report.cluster_id, report.stack, *sorted(patterns)])
    folder = f"outcomes/{sha256(what.encode()).hexdigest()[:16]}"
    try:
        before = _read(store, folder)
        now = PastAudit(started=report.started, topics=worst_verdicts(report))
        _write(spark, store, folder, [*before, now][-MOST:])
    except (PySparkException, Py4JJavaError, Unreadable):
        history.doubt("tells nothing of how earlier audits ended: there is no trend")
        return []
    return before


def worst_verdicts(report: AuditReport) -> dict[Verdict, int]:
    """How many topics have which verdict as their weightiest; those that nothing was said of pass."""
    worst: dict[str, Verdict] = {topic.name: Verdict.PASS for topic in report.topics}
    for finding in report.findings:
        worst[finding.topic] = _weightier(finding, worst)
    counts = Counter(worst.values())
    return {verdict: counts[verdict] for verdict in BY_WEIGHT if counts[verdict]}


def _weightier(finding: Finding, worst: Mapping[str, Verdict]) -> Verdict:
    return min(finding.verdict, worst.get(finding.topic, Verdict.PASS), key=BY_WEIGHT.index)


def _read(store: HistoryStore, folder: str) -> list[PastAudit]:
    parts = store.parts(folder)[-_PARTS:]
    if not parts:
        return []
    rows = store.read(folder, parts, _OUTCOME).collect()
    found = {(row["started"], *sorted(row["topics"].items())): row["topics"] for row in rows}
    return [
        PastAudit(started=started, topics={Verdict(name): number for name, number in topics.items()})
        for (started, *_), topics in sorted(found.items())
    ][-MOST:]


def _write(spark: SparkSession, store: HistoryStore, folder: str, audits: list[PastAudit]) -> None:
    rows = [each.model_dump(mode="json") for each in audits]
    store.write(folder, part_name(audits[-1].started), literal(spark, rows, _OUTCOME).coalesce(1))
    for part in store.parts(folder)[:-_PARTS]:
        store.delete(folder, part)
