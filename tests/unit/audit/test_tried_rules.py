"""Test what a plan says about new rules, from the findings of the audit that tries them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from topicwarden.audit import tried_rules
from topicwarden.audit.audit_process import audit_in_process
from topicwarden.audit.request import AuditRequest
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.contents import Contents
from topicwarden.model.finding import AuditReport, Finding, PartitionFacts, TopicFacts
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.topic import Topic
from topicwarden.model.verdict import Verdict
from topicwarden.plan.changed_rules import RuleTrial
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.validated_document import SettingLocations
from topicwarden.specs.yaml_nodes import ParsedDocument

BROKEN = Finding(check="unique", verdict=Verdict.FAIL, topic="t", message="4 records twice", evidence={"records": 4})


def declaration(name: str, **contents: Any) -> Declaration:
    topic = Topic(name, 1, 1, contents=Contents.model_validate(contents))
    return Declaration(topic, SettingLocations(ParsedDocument(f"topics/{name}.yaml"), (), {}))


TRIED = declaration("t", references=[{"field": "customer", "topic": "customers"}])
CUSTOMERS = declaration("customers", key={"format": "string"}, unique=[{"key": True}])


def consequences(
    monkeypatch: pytest.MonkeyPatch,
    findings: list[Finding],
    *,
    coverage: float = 1,
    records: int = 20,
    error: Exception | None = None,
) -> list[Consequence]:
    def audit(project: Project, request: AuditRequest) -> AuditReport:
        assert request.patterns == ("t", "customers")
        assert request.declarations[1].topic.contents.unique == ()
        assert request.bounds.max_records == tried_rules.MOST_RECORDS
        if error:
            raise error
        offsets = {"log_start": 0, "log_end": records, "last_stable": records, "log_bytes": None}
        facts = {"partition": 0, "leader": 1, "replicas": [1], "in_sync": [1], "records": records, **offsets}
        partition = PartitionFacts.model_validate(facts)
        topic = TopicFacts(name="t", domain="", declared=True, partitions=[partition])
        return AuditReport(
            topicwarden="0",
            stack="dev",
            cluster_id="c",
            started=0,
            finished=0,
            scanned_records=records,
            scan_seconds=0,
            topics=[topic],
            findings=findings,
            coverage=coverage,
        )

    monkeypatch.setattr(tried_rules, "audit_in_process", audit)
    request = AuditRequest("dev", Connection(("b:1",), tls=False), (TRIED, CUSTOMERS, declaration("other")))
    trial = RuleTrial(TRIED, frozenset({"unique", "references"}))
    found = tried_rules.try_rules(Project(Path()), request, [trial], Severity.DANGER)
    return found.get("t", [])


def test_records_that_break_a_new_rule_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    old = BROKEN.model_copy(update={"check": "value-schema"})
    other = BROKEN.model_copy(update={"topic": "customers"})
    (found,) = consequences(monkeypatch, [BROKEN, old, other])
    assert found.severity is Severity.DANGER
    assert found.message == "unique would fail for 4 of 20 retained records: 4 records twice"
    (sample,) = [each for each in consequences(monkeypatch, [BROKEN], coverage=0.5) if each.severity is Severity.DANGER]
    assert sample.message.startswith("unique would fail for 4 of the newest 20 records")


def test_what_was_not_tried_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    undecidable = BROKEN.model_copy(update={"verdict": Verdict.UNDECIDABLE, "message": "a part was read"})
    (unknown,) = consequences(monkeypatch, [undecidable])
    assert (unknown.severity, unknown.message.endswith("a part was read")) == (Severity.NOTE, True)
    (sample,) = consequences(monkeypatch, [], coverage=0.5)
    assert "on the newest 20 records of the topic only" in sample.message
    (failed,) = consequences(monkeypatch, [], error=Refusal("Java is missing"))
    assert failed.severity is Severity.NOTE
    assert failed.message == "new rules (references, unique) were not tried on the retained records: Java is missing"


def test_rules_that_all_records_meet_have_no_consequence(monkeypatch: pytest.MonkeyPatch) -> None:
    assert consequences(monkeypatch, [BROKEN.model_copy(update={"verdict": Verdict.PASS})]) == []
    undecidable = BROKEN.model_copy(update={"verdict": Verdict.UNDECIDABLE})
    assert consequences(monkeypatch, [undecidable], records=0) == []


def test_the_process_of_the_audit_says_why_it_is_refused(tmp_path: Path) -> None:
    request = AuditRequest("dev", Connection(("127.0.0.1:1",), tls=False), (TRIED,), ("t",), root=tmp_path)
    with pytest.raises(Refusal, match=r"no Kafka cluster answers.*127\.0\.0\.1:1"):
        audit_in_process(Project(tmp_path), request)
