"""An audit as OpenLineage events: one run of the job that audits the stack, which reads its topics.

The versions of the schemas are 2-0-2 for events, 1-1-0 for assertions, 1-0-1 for tests and 1-0-0 for owners.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from topicwarden.catalogues.catalogue_target import CatalogueTarget
from topicwarden.catalogues.topic_verdicts import TopicVerdict, topic_verdicts
from topicwarden.model.finding import OF_CLUSTER, AuditReport
from topicwarden.model.verdict import Verdict

_SCHEMAS: Final = "https://openlineage.io/spec"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STATUS: Final = {Verdict.PASS: "pass", Verdict.FAIL: "fail", Verdict.SUSPECT: "fail", Verdict.UNDECIDABLE: "skip"}
_SEVERITY: Final = {Verdict.FAIL: "error", Verdict.SUSPECT: "warn"}


def run_events(report: AuditReport, target: CatalogueTarget) -> list[dict[str, Any]]:
    """Return the events START and COMPLETE of the audit. Equal reports give equal events.

    A topic is an input dataset. Its assertions are the checks that pass or fail. Other verdicts prove nothing about
    the data, so they are tests of the run: ``suspect`` as a warning, ``undecidable`` as skipped.
    """
    producer = f"https://github.com/topicwarden/topicwarden/tree/v{report.topicwarden}"
    job = {
        "namespace": target.settings.namespace,
        "name": f"audit.{report.stack}",
        "facets": {
            "jobType": _facet(producer, "2-0-2", "JobTypeJobFacet")
            | {"processingType": "BATCH", "integration": "TOPICWARDEN", "jobType": "AUDIT"}
        },
    }
    run_id = str(_run_id(report, target))
    verdicts = topic_verdicts(report)
    start = _event(producer, "START", report.started, {"runId": run_id, "facets": {}}, job)
    tests = [_test(each) for each in verdicts if each.topic == OF_CLUSTER or not _decided(each)]
    facets = {"test": _facet(producer, "1-0-1", "TestRunFacet") | {"tests": tests}} if tests else {}
    complete = _event(producer, "COMPLETE", report.finished, {"runId": run_id, "facets": facets}, job)
    return [start, complete | {"inputs": _inputs(report, verdicts, target.cluster, producer)}]


def _run_id(report: AuditReport, target: CatalogueTarget) -> UUID:
    """Return a UUID of version 7: the start of the audit, and a hash of the job and the cluster."""
    identity = "\0".join((target.settings.namespace, report.stack, report.cluster_id or target.cluster))
    digest = int.from_bytes(hashlib.sha256(f"{identity}\0{report.started}".encode()).digest()[:10])
    bits = (report.started & (1 << 48) - 1) << 80 | digest
    return UUID(int=bits & ~(0xF << 76) & ~(0x3 << 62) | 7 << 76 | 2 << 62)


def _event(producer: str, kind: str, time: int, run: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    return {
        "eventType": kind,
        "eventTime": (_EPOCH + timedelta(milliseconds=time)).isoformat(timespec="milliseconds"),
        "producer": producer,
        "schemaURL": f"{_SCHEMAS}/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": run,
        "job": job,
        "inputs": [],
        "outputs": [],
    }


def _inputs(report: AuditReport, verdicts: list[TopicVerdict], namespace: str, producer: str) -> list[dict[str, Any]]:
    of_topic = {topic: list(group) for topic, group in groupby(verdicts, key=lambda each: each.topic)}
    owners = {topic.name: topic.owner for topic in report.topics}
    datasets = []
    for topic in sorted({*owners, *of_topic} - {OF_CLUSTER}):
        dataset: dict[str, Any] = {"namespace": namespace, "name": topic, "facets": {}, "inputFacets": {}}
        if owner := owners.get(topic):
            facet = _facet(producer, "1-0-0", "OwnershipDatasetFacet")
            dataset["facets"]["ownership"] = facet | {"owners": [{"name": owner, "type": "OWNER"}]}
        if assertions := [_assertion(each) for each in of_topic.get(topic, ()) if _decided(each)]:
            facet = _facet(producer, "1-1-0", "DataQualityAssertionsDatasetFacet")
            dataset["inputFacets"]["dataQualityAssertions"] = facet | {"assertions": assertions}
        datasets.append(dataset)
    return datasets


def _decided(verdict: TopicVerdict) -> bool:
    return verdict.verdict in (Verdict.PASS, Verdict.FAIL)


def _assertion(verdict: TopicVerdict) -> dict[str, Any]:
    passed = verdict.verdict is Verdict.PASS
    assertion: dict[str, Any] = {"assertion": verdict.check, "success": passed}
    return assertion if passed else assertion | {"severity": "error", "properties": _details(verdict)}


def _test(verdict: TopicVerdict) -> dict[str, Any]:
    severity = {"severity": _SEVERITY[verdict.verdict]} if verdict.verdict in _SEVERITY else {}
    return {
        "name": f"{verdict.topic}:{verdict.check}",
        "status": _STATUS[verdict.verdict],
        "type": verdict.check,
        **severity,
        "params": {"topic": verdict.topic, "verdict": verdict.verdict.value, **_details(verdict)},
    }


def _details(verdict: TopicVerdict) -> dict[str, Any]:
    details = {
        "message": verdict.message,
        "remedy": verdict.remedy,
        "location": verdict.location,
        "since": verdict.since,
    }
    return {name: value for name, value in details.items() if value}


def _facet(producer: str, version: str, name: str) -> dict[str, Any]:
    return {"_producer": producer, "_schemaURL": f"{_SCHEMAS}/facets/{version}/{name}.json#/$defs/{name}"}
