"""An audit as OpenLineage events: one run of the job that audits the stack, which reads its topics.

OpenLineage's own client has the forms of events and the versions of their schemas. Its HTTP transport is not used: it
follows redirects, uses proxies, and has no limit for a server that sends one byte after the other.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from openlineage.client import event_v2 as event
from openlineage.client import facet_v2 as facets
from openlineage.client.serde import Serde

from topicwarden.model.finding import OF_CLUSTER, AuditReport, Finding
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.operations.catalogues.publisher import CatalogueTarget
from topicwarden.report.display import one_line

MOST_TEXT: Final = 1_000
"""The most characters of a message and of a remedy."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STATUS: Final = {Verdict.PASS: "pass", Verdict.FAIL: "fail", Verdict.SUSPECT: "fail", Verdict.UNDECIDABLE: "skip"}
_SEVERITY: Final = {Verdict.FAIL: "error", Verdict.SUSPECT: "warn"}


def run_events(report: AuditReport, target: CatalogueTarget) -> list[bytes]:
    """Return the events START and COMPLETE of the audit as JSON, each on one line. Equal reports give equal events.

    A topic is an input dataset. Its assertions are the checks that pass or fail. Other verdicts prove nothing about
    the data, so they are tests of the run: ``suspect`` as a warning, ``undecidable`` as skipped.
    """
    producer = f"https://github.com/topicwarden/topicwarden/tree/v{report.topicwarden}"
    kind = facets.job_type_job.JobTypeJobFacet("BATCH", "TOPICWARDEN", "AUDIT", producer=producer)
    job = event.Job(target.settings.namespace, f"audit.{report.stack}", {"jobType": kind})
    verdicts = topic_verdicts(report)
    tests = [_test(each) for each in verdicts if each.topic == OF_CLUSTER or not _decided(each)]
    run_facets: dict[str, Any] = {"test": facets.test_run.TestRunFacet(tests, producer=producer)} if tests else {}
    inputs = _inputs(report, verdicts, target.cluster, producer)
    run_id = str(_run_id(report, target))
    start = event.RunEvent(
        eventTime=_time(report.started),
        run=event.Run(run_id),
        job=job,
        eventType=event.RunState.START,
        producer=producer,
    )
    complete = event.RunEvent(
        eventTime=_time(report.finished),
        run=event.Run(run_id, run_facets),
        job=job,
        eventType=event.RunState.COMPLETE,
        inputs=inputs,
        producer=producer,
    )
    return [
        json.dumps(Serde.to_dict(each), ensure_ascii=False, separators=(",", ":")).encode()
        for each in (start, complete)
    ]


def _time(milliseconds: int) -> str:
    return (_EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds")


def _run_id(report: AuditReport, target: CatalogueTarget) -> UUID:
    """Return a UUID of version 7: the start of the audit, and a hash of the job and the cluster."""
    identity = "\0".join((target.settings.namespace, report.stack, report.cluster_id or target.cluster))
    digest = int.from_bytes(hashlib.sha256(f"{identity}\0{report.started}".encode()).digest()[:10])
    bits = (report.started & (1 << 48) - 1) << 80 | digest
    return UUID(int=bits & ~(0xF << 76) & ~(0x3 << 62) | 7 << 76 | 2 << 62)


def _inputs(
    report: AuditReport, verdicts: list[TopicVerdict], namespace: str, producer: str
) -> list[event.InputDataset]:
    of_topic = {topic: list(group) for topic, group in groupby(verdicts, key=lambda each: each.topic)}
    owners = {topic.name: topic.owner for topic in report.topics}
    datasets = []
    for topic in sorted({*owners, *of_topic} - {OF_CLUSTER}):
        dataset = event.InputDataset(namespace, topic)
        assert dataset.facets is not None and dataset.inputFacets is not None
        if owner := owners.get(topic):
            owned = [facets.ownership_dataset.Owner(owner, "OWNER")]
            dataset.facets["ownership"] = facets.ownership_dataset.OwnershipDatasetFacet(owned, producer=producer)
        if assertions := [_assertion(each) for each in of_topic.get(topic, ()) if _decided(each)]:
            facet = facets.data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet
            dataset.inputFacets["dataQualityAssertions"] = facet(assertions, producer=producer)
        datasets.append(dataset)
    return datasets


def _decided(verdict: TopicVerdict) -> bool:
    return verdict.verdict in (Verdict.PASS, Verdict.FAIL)


def _assertion(verdict: TopicVerdict) -> facets.data_quality_assertions_dataset.Assertion:
    if verdict.verdict is Verdict.PASS:
        return facets.data_quality_assertions_dataset.Assertion(verdict.check, True, params=None)
    details = _details(verdict)
    return facets.data_quality_assertions_dataset.Assertion(verdict.check, False, severity="error", params=details)


def _test(verdict: TopicVerdict) -> facets.test_run.TestExecution:
    return facets.test_run.TestExecution(
        f"{verdict.topic}:{verdict.check}",
        _STATUS[verdict.verdict],
        severity=_SEVERITY.get(verdict.verdict),
        type=verdict.check,
        params={"topic": verdict.topic, "verdict": verdict.verdict.value, **_details(verdict)},
    )


def _details(verdict: TopicVerdict) -> dict[str, Any]:
    details = {
        "message": verdict.message,
        "remedy": verdict.remedy,
        "location": verdict.location,
        "since": verdict.since,
    }
    return {name: value for name, value in details.items() if value}


@dataclass(frozen=True)
class TopicVerdict:
    """The worst verdict of a check on a topic, with the messages of its findings on one line."""

    topic: str
    check: str
    verdict: Verdict
    message: str = ""
    remedy: str = ""
    location: str | None = None
    since: int | None = None


def topic_verdicts(report: AuditReport) -> list[TopicVerdict]:
    """Return the verdicts of ``report``, sorted by topic and check."""
    groups: defaultdict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in report.findings:
        groups[finding.topic, finding.check].append(finding)
    return [_worst(topic, check, groups[topic, check]) for topic, check in sorted(groups)]


def _worst(topic: str, check: str, findings: list[Finding]) -> TopicVerdict:
    verdict = min((finding.verdict for finding in findings), key=WORST_FIRST.index)
    if verdict is Verdict.PASS:
        return TopicVerdict(topic, check, verdict)
    worst = [finding for finding in findings if finding.verdict is verdict]
    location = next((str(finding.location) for finding in worst if finding.location), None)
    since = min((finding.since for finding in worst if finding.since is not None), default=None)
    # The reasons of an undecidable finding are in `because`.
    messages = [finding.message or "; ".join(finding.because) for finding in worst]
    return TopicVerdict(
        topic, check, verdict, _text(messages), _text(finding.remedy for finding in worst), location, since
    )


def _text(texts: Iterable[str]) -> str:
    text = one_line("; ".join(dict.fromkeys(filter(None, texts))))
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"
