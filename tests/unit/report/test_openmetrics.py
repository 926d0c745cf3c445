"""Test the metrics of an audit with Prometheus's own parsers of both formats."""

from __future__ import annotations

import re
from collections import Counter

import pytest
import yaml
from prometheus_client import parser as text_format
from prometheus_client.openmetrics import parser as openmetrics_format

from tests.conftest import REPOSITORY
from tests.support import reports
from tests.support.hostile_texts import HOSTILE
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.report.audit.openmetrics import render

PAGE = REPOSITORY / "docs" / "how-to" / "monitoring.md"
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
    for report in (reports.rich(), reports.empty()):
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


def test_the_page_names_every_metric_and_its_labels() -> None:
    rows = re.findall(r"^\| `(topicwarden_\w+)` \| (.*?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    documented = {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}
    written: dict[str, set[str]] = {}
    for name, labels in series(render(reports.rich())):
        written.setdefault(name, set()).update(dict(labels))
    assert documented == written


def test_the_alert_rules_use_metrics_labels_and_verdicts_that_exist() -> None:
    page = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    rules = [rule for group in yaml.safe_load(block)["groups"] for rule in group["rules"]]
    expressions = " ".join(rule["expr"] for rule in rules)
    names = {name for name, _ in series(render(reports.rich()))}
    assert set(re.findall(r"topicwarden_\w+", expressions)) <= names
    assert set(re.findall(r'verdict="(\w+)"', expressions)) <= set(Verdict)
    assert all(rule["annotations"]["summary"] and rule["labels"]["severity"] for rule in rules)
