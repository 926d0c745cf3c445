"""Test reports for machines: JSON, OpenMetrics, and folders that are lost."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft4Validator
from prometheus_client import parser as text_format
from prometheus_client.openmetrics import parser as openmetrics_format

from tests.conftest import REPOSITORY
from tests.support import reports, usage_reports
from tests.support.command import topicwarden
from tests.support.hostile_texts import HOSTILE
from tests.support.projects import project_of
from tests.support.reports import rich
from topicwarden.audit.check_docs import check_docs
from topicwarden.audit.scan.spark_source import SparkSource
from topicwarden.cli.pages.alert_rules import DOCUMENTATION, alert_name, alerts
from topicwarden.cli.pages.dashboard import dashboard
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.problem import Location, Refusal
from topicwarden.model.verdict import WORST_FIRST, FailOn, Verdict
from topicwarden.operations import audit as module
from topicwarden.report.audit import junit, sarif
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.openmetrics import render
from topicwarden.report.output_folder import require_writable

# SARIF and JUnit output of an audit: it meets the official schemas, has the right lines, and is complete.

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


# The metrics of an audit with Prometheus's own parsers of both formats.

PAGE = REPOSITORY / "docs" / "how-to" / "monitoring.md"
REFERENCE = REPOSITORY / "docs" / "reference" / "metrics.md"
PARSERS = {
    "OpenMetrics": openmetrics_format.text_string_to_metric_families,
    "text": text_format.text_string_to_metric_families,
}
Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def series(text: str, parser: str = "OpenMetrics") -> Series:
    """Return the value of each series by its name and its labels without ``stack``."""
    found: Series = {}
    for family in PARSERS[parser](text):
        assert family.type == "gauge"
        assert family.documentation.endswith(".")
        for sample in family.samples:
            labels = {name: value for name, value in sample.labels.items() if name != "stack"}
            key = (sample.name, frozenset(labels.items()))
            assert key not in found
            found[key] = sample.value
    return found


def value(found: Series, name: str, **labels: str) -> float:
    return found[f"topicwarden_{name}", frozenset(labels.items())]


@pytest.mark.parametrize("parser", PARSERS)
def test_both_formats_of_prometheus_have_the_same_series(parser: str) -> None:
    for report in (reports.rich(), reports.empty(), with_usage()):
        assert series(render(report), parser) == series(render(report))
        assert render(report).endswith("\n# EOF\n")


def test_an_audit_without_topics_has_a_time() -> None:
    report = reports.empty()
    found = series(render(report))
    assert value(found, "audit_finished_timestamp_seconds") == report.finished / 1000
    assert [value(found, "audit_topics", verdict=verdict.value) for verdict in WORST_FIRST] == [0, 0, 0, 0]


def test_counts_are_those_of_the_report() -> None:
    report = reports.rich()
    found = series(render(report))
    expected = Counter((finding.check, finding.verdict) for finding in report.findings)
    for check in {finding.check for finding in report.findings}:
        for verdict in WORST_FIRST:
            labels = {"check": check, "verdict": verdict.value}
            assert value(found, "audit_findings", **labels) == expected[check, verdict]
    for facts in report.topics:
        assert value(found, "topic_partitions", topic=facts.name) == len(facts.partitions)
        key = ("topicwarden_topic_records", frozenset({("topic", facts.name)}))
        assert found.get(key) == facts.records
        assert value(found, "topic_info", topic=facts.name, domain=facts.domain, owner=facts.owner or "") == 1


def test_an_unknown_number_has_no_series() -> None:
    unknown = dict.fromkeys(("records", "payload_bytes", "null_keys", "log_bytes"))
    unread = [reports.partition(0, 0).model_copy(update=unknown)]
    report = reports.report([reports.topic("a.unread.v1", [0]).model_copy(update={"partitions": unread})], [])
    names = {name for name, labels in series(render(report)) if ("topic", "a.unread.v1") in labels}
    assert names.isdisjoint(
        f"topicwarden_topic_{name}" for name in ("records", "payload_bytes", "log_bytes", "null_keys", "skew_ratio")
    )


def test_a_thousand_topics_have_no_series_for_checks_that_pass() -> None:
    report = reports.thousand()
    found = series(render(report))
    by_name = Counter(name for name, _ in found)
    assert by_name["topicwarden_topic_findings"] == 50
    assert max(by_name.values()) == 1_000
    assert len(found) < 11_000


def test_the_order_of_topics_and_findings_does_not_matter() -> None:
    report = reports.rich()
    turned = report.model_copy(update={"topics": report.topics[::-1], "findings": report.findings[::-1]})
    assert render(turned) == render(report)


@pytest.mark.parametrize("text", [*HOSTILE, 'a"b\\c\nd', "\\", "\\n", '",verdict="pass'], ids=ascii)
def test_a_hostile_name_is_escaped_in_its_label(text: str) -> None:
    finding = Finding(check="retention-time", verdict=Verdict.FAIL, topic=text, message=text, evidence={text: text})
    report = reports.report([reports.topic(text, [1])], [finding])
    lines = len(render(named(report, "name")).splitlines())
    assert len(render(named(report, text)).split("\n")) == lines + 1
    found = series(render(named(report, text)))
    topics = {dict(labels)["topic"] for name, labels in found if name == "topicwarden_topic_findings"}
    assert len(topics) == 1
    if text.isprintable() or text == 'a"b\\c\nd':
        assert topics == {text}


def named(report: AuditReport, name: str) -> AuditReport:
    """Return ``report`` with another name of its stack, its topic, and the topic's owner."""
    topics = [topic.model_copy(update={"name": name, "owner": name, "domain": name}) for topic in report.topics]
    findings = [finding.model_copy(update={"topic": name}) for finding in report.findings]
    return report.model_copy(update={"stack": name, "topics": topics, "findings": findings})


def test_metrics_have_no_messages_and_no_evidence() -> None:
    secret = "a-value-of-a-record"
    finding = Finding(
        check="value-schema",
        verdict=Verdict.FAIL,
        topic="a",
        message=secret,
        because=[secret],
        remedy=secret,
        evidence={"excerpt": secret},
    )
    report = reports.report([reports.topic("a", [1])], [finding]).model_copy(update={"notes": [secret]})
    assert secret not in render(report)


def with_usage() -> AuditReport:
    return reports.rich().model_copy(update={"usage": usage_reports.rich()})


def test_every_metric_that_rules_dashboard_and_pages_name_exists() -> None:
    """The page has the table of all metrics of an audit, which is generated, and the gauges of watch."""
    reference = REFERENCE.read_text(encoding="utf-8")
    of_watch = set(re.findall(r"^\| `(topicwarden_watch_\w+)` \|", reference, re.MULTILINE))
    known = {name for name, _ in series(render(with_usage()))} | of_watch
    for text in (reference, PAGE.read_text(encoding="utf-8"), alerts(), dashboard()):
        assert set(re.findall(r"\btopicwarden_[a-z_]+", text)) <= known


def test_each_check_that_can_fail_has_an_alert_with_its_docs_and_an_anchor_of_the_runbook() -> None:
    checks, _ = yaml.safe_load(alerts())["groups"]
    rules = {rule["alert"]: rule for rule in checks["rules"][1:]}
    never = {"internal-size", "personal-fields"}
    assert set(rules) == {alert_name(check) for check in check_docs() if check not in never}
    headings = re.findall(r"^## (.*)$", (REPOSITORY / "docs" / "runbook.md").read_text("utf-8"), re.MULTILINE)
    for check in set(check_docs()) - never:
        annotations = rules[alert_name(check)]["annotations"]
        assert annotations["runbook_url"] == f"{DOCUMENTATION}/runbook.md#{check}"
        assert check in headings
        assert annotations["description"].startswith("Fails if: ")
        assert "\nRemedy: " in annotations["description"]
        text = str(annotations)
        assert not set(re.findall(r"\{\{.*?\}\}", text)) - {"{{ $labels.topic }}", "{{ $labels.stack }}"}
        assert "**" not in text


def test_panels_of_the_dashboard_do_not_overlap_and_use_its_variables() -> None:
    content = json.loads(dashboard())
    cells = [
        (x, y)
        for panel in content["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert {each["name"] for each in content["templating"]["list"]} == {"datasource", "stack", "topic"}
    for panel in content["panels"]:
        assert panel["datasource"]["uid"] == "${datasource}"
        assert all('stack=~"$stack"' in target["expr"] for target in panel["targets"])


def test_the_alert_rules_use_metrics_labels_and_verdicts_that_exist() -> None:
    page = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    rules = [rule for group in yaml.safe_load(block)["groups"] for rule in group["rules"]]
    expressions = " ".join(rule["expr"] for rule in rules)
    names = {name for name, _ in series(render(with_usage()))}
    assert set(re.findall(r"topicwarden_\w+", expressions)) <= names
    assert set(re.findall(r'verdict="(\w+)"', expressions)) <= set(Verdict)
    assert all(rule["annotations"]["summary"] and rule["labels"]["severity"] for rule in rules)


# Test that an audit prints its report if the folder for the files fails after the scan.


def test_the_report_is_printed_although_its_files_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, out = project_of(tmp_path / "project", {}), tmp_path / "reports"

    @contextmanager
    def auditing(*_: object, **__: object) -> Iterator[tuple[module.AuditFunction, SparkSource]]:
        def audit_once(_: tuple[str, ...]) -> AuditReport:
            out.write_text("a file in place of the folder")
            return rich()

        yield audit_once, lambda: pytest.fail("Spark was started")

    monkeypatch.setattr(module, "_auditing", auditing)
    monkeypatch.setattr(module, "_stack_request", lambda *_: None)
    done = topicwarden("audit", "--stack", "dev", "--out", out, "--format", "junit", cwd=project.root)
    assert (done.code, "is not a folder" in done.err) == (2, True)
    assert done.out.endswith("</testsuites>\n")


def test_a_folder_is_refused_before_the_work_only_if_it_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for unusable in (Path("/proc/nope"), tmp_path / "file" / "reports"):
        with pytest.raises(Refusal, match=r"is not writable|is not a folder"):
            require_writable(unusable)
    require_writable(tmp_path / "new" / "reports")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
