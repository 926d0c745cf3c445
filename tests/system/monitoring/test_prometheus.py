"""Test the metrics, the alert rules and the dashboard with a real Prometheus and a real Alertmanager.

``StandIn`` serves the metrics of a report over HTTP, as `topicwarden watch` does, without audits.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from tests.conftest import REPOSITORY
from tests.support import reports, usage_reports
from tests.support.prometheus import Monitoring, eventually, monitoring, run_tool
from topicwarden.cli.pages.alert_rules import DOCUMENTATION
from topicwarden.model.finding import OF_CLUSTER, AuditReport, Finding
from topicwarden.model.verdict import Verdict
from topicwarden.report.audit.openmetrics import render
from topicwarden.report.prometheus_text import metrics_text

ALERTS = REPOSITORY / "docs" / "alerts.yaml"
DASHBOARD = REPOSITORY / "docs" / "dashboard.json"
RULE_TESTS = Path(__file__).parent / "alerts.test.yaml"
FORMATS = {
    "/metrics": "text/plain; version=0.0.4; charset=utf-8",
    "/openmetrics": "application/openmetrics-text; version=1.0.0; charset=utf-8",
}
TOPIC = "orders.placed.v1"
PLANTED = Finding(check="retention-time", verdict=Verdict.FAIL, topic=TOPIC, message="records of a month")
PLANTED_IN_ACCESS = Finding(check="acl-drift", verdict=Verdict.FAIL, topic=OF_CLUSTER, message="an ACL is missing")

OTHER_EXPORTERS = f"""\
# TYPE kminion_kafka_consumer_group_topic_lag gauge
kminion_kafka_consumer_group_topic_lag{{group_id="billing",topic_name="{TOPIC}"}} 1204
# TYPE kafka_consumergroup_lag_sum gauge
kafka_consumergroup_lag_sum{{consumergroup="billing",topic="{TOPIC}"}} 1204
# EOF
"""
"""Stands in for kminion and kafka_exporter: the metrics that the examples of the reference join."""


class StandIn(ThreadingHTTPServer):
    """Stands in for the HTTP server of `topicwarden watch`: serves ``text`` in both formats of Prometheus."""

    text = ""

    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, StandIn)
        body = self.server.text.encode()
        self.send_response(200)
        self.send_header("Content-Type", FORMATS[self.path])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def report(*failures: Finding) -> AuditReport:
    """Return a report with every feature, in which only ``failures`` fail; its times are those of the current time."""
    rich = reports.rich()
    milder = [each for each in rich.findings if each.verdict is not Verdict.FAIL]
    topics = [each.model_copy(update={"owner": "team-orders"}) if each.name == TOPIC else each for each in rich.topics]
    finished = int(time.time() * 1000)
    changes = {
        "findings": [*milder, *failures],
        "topics": topics,
        "started": finished - 9_400,
        "finished": finished,
        "usage": usage_reports.rich(),
    }
    return rich.model_copy(update=changes)


def watch_metrics(last_success: float, *, valid: bool = True) -> str:
    """Return the gauges that `topicwarden watch` adds to those of its last report."""
    return metrics_text(
        "prod",
        {
            f"watch_{name}": ("A gauge of watch.", [({}, value)])
            for name, value in {
                "last_audit_timestamp_seconds": last_success,
                "last_success_timestamp_seconds": last_success,
                "failed_audits": 0,
                "declarations_valid": int(valid),
                "interval_seconds": 1,
                "audit_seconds": 1,
            }.items()
        },
    )


def served(*failures: Finding) -> str:
    return joined(render(report(*failures)), watch_metrics(time.time() + 3_600))


def joined(*texts: str) -> str:
    """Return metrics as one text, which has one end."""
    return "".join(text.removesuffix("# EOF\n") for text in texts) + "# EOF\n"


@contextmanager
def standing_in(text: str) -> Iterator[StandIn]:
    with StandIn(("127.0.0.1", 0), Answer) as server:
        server.text = text
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_a_planted_fault_fires_its_alert_which_reaches_alertmanager(tmp_path: Path) -> None:
    with standing_in(served()) as server:
        targets = {"text": f"{server.address()}/metrics", "openmetrics": f"{server.address()}/openmetrics"}
        with monitoring(tmp_path, targets, ALERTS) as started:
            both_formats_are_scraped(started)
            assert started.firing() == {}
            every_query_of_the_dashboard_works(started, empty={"Failures now", "Failures by check"})
            server.text = joined(served(PLANTED, PLANTED_IN_ACCESS), OTHER_EXPORTERS)
            eventually(lambda: len(started.firing()) == 2)
            labels = started.firing()["TopicwardenRetentionTime"]
            assert labels == {
                "alertname": "TopicwardenRetentionTime",
                "severity": "warning",
                "check": "retention-time",
                "stack": "prod",
                "topic": TOPIC,
                "owner": "team-orders",
                "domain": "orders",
            }
            assert started.firing()["TopicwardenAclDrift"]["topic"] == OF_CLUSTER
            eventually(lambda: "TopicwardenRetentionTime" in started.received())
            received = started.received()["TopicwardenRetentionTime"]
            assert received["labels"] == labels
            assert received["annotations"]["summary"].startswith(f"{TOPIC} (prod): retention-time fails. Violated: ")
            assert received["annotations"]["runbook_url"] == f"{DOCUMENTATION}/runbook.md#retention-time"
            every_query_of_the_dashboard_works(started)
            every_expression_of_the_reference_works(started)
            server.text = joined(render(report()), watch_metrics(time.time() - 60))
            eventually(lambda: "TopicwardenStale" in started.received())


def both_formats_are_scraped(started: Monitoring) -> None:
    """Check that Prometheus accepts both formats, and finds the same samples in them."""
    eventually(lambda: {each["health"] for each in started.targets().values()} == {"up"})
    assert {each["lastError"] for each in started.targets().values()} == {""}
    eventually(lambda: len(started.query('topicwarden_topic_info{topic="orders.placed.v1"}')) == 2)
    numbers = {each["value"][1] for each in started.query("scrape_samples_scraped")}
    assert len(numbers) == 1
    assert int(numbers.pop()) > 100


def every_query_of_the_dashboard_works(started: Monitoring, empty: frozenset[str] | set[str] = frozenset()) -> None:
    """Run all queries of the dashboard, with its variables. Each has results, except in the panels ``empty``."""
    content = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    for variable in content["templating"]["list"]:
        if variable["type"] == "query":
            found = re.fullmatch(r"label_values\((.*), (\w+)\)", substituted(variable["definition"]))
            assert found
            assert started.label_values(found[2], found[1]), variable
    without = {
        panel["title"]
        for panel in content["panels"]
        for target in panel["targets"]
        if not started.query(substituted(target["expr"]))
    }
    assert without == empty


def every_expression_of_the_reference_works(started: Monitoring) -> None:
    page = (REPOSITORY / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    expressions = re.findall(r"^```promql\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert [each for each in expressions if not started.query(each)] == []
    owners = {each["metric"].get("owner") for expression in expressions[:2] for each in started.query(expression)}
    assert owners == {"team-orders"}


def substituted(query: str) -> str:
    return query.replace("$stack", ".*").replace("$topic", ".*")


@pytest.mark.parametrize("failures", [(), (PLANTED, PLANTED_IN_ACCESS)])
def test_promtool_finds_no_fault_in_the_metrics(failures: tuple[Finding, ...]) -> None:
    assert run_tool("promtool", "check", "metrics", text=served(*failures)) == ""


GROUPS = {
    group["name"]: group["rules"] for group in yaml.load(ALERTS.read_text(encoding="utf-8"), yaml.CSafeLoader)["groups"]
}


def test_promtool_accepts_the_rules() -> None:
    run_tool("promtool", "check", "rules", "--lint=all", "--lint-fatal", str(ALERTS))


@pytest.mark.parametrize("group", GROUPS)
def test_alerts_fire_and_end_over_time(group: str, tmp_path: Path) -> None:
    rules, rule_tests = tmp_path / "rules.yaml", tmp_path / "tests.yaml"
    rules.write_text(json.dumps({"groups": [{"name": group, "rules": GROUPS[group]}]}), encoding="utf-8")
    annotations = {rule["alert"]: rule["annotations"] for rule in GROUPS[group] if "alert" in rule}
    cases = yaml.load(RULE_TESTS.read_text(encoding="utf-8"), yaml.CSafeLoader)[group]
    for case in (case for each in cases for case in each["alert_rule_test"]):
        for alert in case["exp_alerts"]:
            alert["exp_annotations"] = annotations[case["alertname"]] | alert["exp_annotations"]
    content = {"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": cases}
    rule_tests.write_text(yaml.safe_dump(content), encoding="utf-8")
    run_tool("promtool", "test", "rules", str(rule_tests))
