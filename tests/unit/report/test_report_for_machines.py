"""Test SARIF and JUnit output of an audit: it meets the official schemas, has the right lines, and is complete."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator

from tests.support import reports
from topicwarden.audit.checks import check_docs
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.problem import Location
from topicwarden.model.verdict import FailOn, Verdict
from topicwarden.report.audit import junit, sarif
from topicwarden.report.audit.background import ReportBackground

OFFICIAL = Path(__file__).parents[1] / "check" / "sarif" / "sarif-schema-2.1.0.json"


def run_of(report: AuditReport, background: ReportBackground | None = None) -> dict[str, Any]:
    log = json.loads(sarif.render(report, background or ReportBackground(checks=check_docs())))
    found: dict[str, Any] = log["runs"][0]
    return found


def cases_of(report: AuditReport, fail_on: FailOn) -> dict[tuple[str, str], ET.Element]:
    tree = ET.fromstring(junit.render(report, ReportBackground(fail_on=fail_on)))
    return {(case.get("classname") or "", case.get("name") or ""): case for case in tree.iter("testcase")}


def test_sarif_meets_the_official_schema() -> None:
    official = Draft4Validator(json.loads(OFFICIAL.read_text(encoding="utf-8")))
    for report in (reports.rich(), reports.empty()):
        log = json.loads(sarif.render(report, ReportBackground(checks=check_docs())))
        assert [error.message for error in official.iter_errors(log)] == []


def test_sarif_puts_each_finding_on_the_line_that_declares_it() -> None:
    run = run_of(reports.rich())
    reported = {
        (result["ruleId"], result["level"]): result["locations"][0]["physicalLocation"] for result in run["results"]
    }
    assert list(reported) == [
        ("topic-missing", "error"),
        ("compaction-lag", "error"),
        ("retention-blocked", "error"),
        ("header", "warning"),
        ("partition-skew", "warning"),
        ("under-replicated", "note"),
    ]
    lag = reported["compaction-lag", "error"]
    assert lag["artifactLocation"] == {"uri": "topics/orders/orders.state.v1.yaml", "uriBaseId": "%SRCROOT%"}
    assert lag["region"] == {"startLine": 7, "startColumn": 19}
    assert reported["under-replicated", "note"] == {"artifactLocation": {"uri": "topics", "uriBaseId": "%SRCROOT%"}}


def test_sarif_has_the_cause_the_evidence_and_the_remedy() -> None:
    run = run_of(reports.rich())
    (lag,) = [result for result in run["results"] if result["ruleId"] == "compaction-lag"]
    lines = lag["message"]["text"].splitlines()
    assert lines[0].startswith("orders.state.v1 [0, 2] A superseded record is still present")
    assert [line.split()[0] for line in lines[1:]] == ["because"] * 3 + ["evidence:", "remedy:", "declared"]
    assert lag["properties"]["evidence"]["superseded_offset"] == 4_112
    rule = run["tool"]["driver"]["rules"][lag["ruleIndex"]]
    title = "The cleaner removes superseded records within max.compaction.lag.ms, if that is set."
    assert rule["shortDescription"]["text"] == title
    assert "KIP-354" in rule["help"]["markdown"]
    limits = [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]]
    assert any(limit.startswith("95.12%") for limit in limits)


def test_sarif_fingerprints_do_not_depend_on_numbers() -> None:
    def prints(report: AuditReport) -> list[str]:
        return [result["partialFingerprints"]["topicwardenAudit/v1"] for result in run_of(report)["results"]]

    def finding_at(message: str, line: int, partition: int = 0) -> Finding:
        location = Location(file="topics/a.yaml", line=line, column=1)
        return Finding(
            check="c", verdict=Verdict.FAIL, topic="a", partitions=[partition], message=message, location=location
        )

    before = prints(reports.report([], [finding_at("3 records", 1), finding_at("also", 1)]))
    assert before == prints(reports.report([], [finding_at("4 records", 9), finding_at("as well", 9)]))
    assert len(set(before)) == 2
    assert not {*before} & {*prints(reports.report([], [finding_at("3 records", 1, partition=1)]))}


def test_sarif_names_files_from_the_root_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    run = run_of(reports.rich(), ReportBackground(root=tmp_path / "kafka topics"))
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]}
    assert "kafka%20topics/topics/payments/_defaults.yaml" in uris
    assert "kafka%20topics/topics" in uris


def test_sarif_counts_columns_in_utf16(tmp_path: Path) -> None:
    (tmp_path / "topics").mkdir()
    (tmp_path / "topics" / "a.yaml").write_text('{"🐘": 1, config: 2}\n', encoding="utf-8")
    location = Location(file="topics/a.yaml", line=1, column=10)
    finding = Finding(check="c", verdict=Verdict.FAIL, topic="a", message="m", location=location)
    (result,) = run_of(reports.report([], [finding]), ReportBackground(root=tmp_path))["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startColumn"] == 11


@pytest.mark.parametrize(
    ("fail_on", "failures"),
    [(FailOn.NEVER, 0), (FailOn.FAIL, 3), (FailOn.SUSPECT, 5), (FailOn.UNDECIDABLE, 6)],
)
def test_junit_fails_what_fails_the_audit_and_skips_the_rest(fail_on: FailOn, failures: int) -> None:
    cases = cases_of(reports.rich(), fail_on)
    assert sum(case.find("failure") is not None for case in cases.values()) == failures
    assert sum(case.find("skipped") is not None for case in cases.values()) == 6 - failures
    assert len(cases) == 7 + 6 * 11


def test_junit_has_a_suite_a_topic_and_a_case_a_check() -> None:
    report = reports.rich()
    tree = ET.fromstring(junit.render(report, ReportBackground()))
    assert [suite.get("name") for suite in tree.iter("testsuite")][:2] == ["customers.profile.v3", "orders.state.v1"]
    assert len(list(tree.iter("testsuite"))) == len(report.topics)
    case = cases_of(report, FailOn.FAIL)["orders.state.v1", "compaction-lag"]
    assert (case.get("file"), case.get("line")) == ("topics/orders/orders.state.v1.yaml", "7")
    failure = case.find("failure")
    assert failure is not None
    assert (failure.get("message") or "").startswith("fail: [0, 2] A superseded record is still present")
    assert "remedy: Look for a dead cleaner thread" in (failure.text or "")
    note = cases_of(report, FailOn.FAIL)["stock.levels.v1", "compaction-ratio"].find("system-out")
    assert note is not None
    assert "legitimate" in (note.text or "")


def test_junit_combines_findings_of_one_check() -> None:
    found = [
        Finding(check="c", verdict=verdict, topic="a", partitions=[n], message=f"m{n}")
        for n, verdict in enumerate((Verdict.SUSPECT, Verdict.FAIL, Verdict.SUSPECT))
    ]
    (case,) = cases_of(reports.report([], found), FailOn.FAIL).values()
    assert [child.tag for child in case] == ["failure"]
    failure = case[0]
    assert failure.get("message") == "fail: [1] m1 (and 2 more)"
    assert (failure.text or "").splitlines() == ["fail: [1] m1", "suspect: [0] m0", "suspect: [2] m2"]


@pytest.mark.parametrize("render", [sarif.render, junit.render])
def test_controls_of_records_and_names_are_spelled_out(render: Any) -> None:
    text = render(reports.rich(), ReportBackground())
    assert not set(text) & {"\x1b", "\u202e"}
    assert "\\u202egnp.exe" in text.replace("\\\\", "\\")
