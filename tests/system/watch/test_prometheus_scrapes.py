"""Test that a real Prometheus scrapes a real watch of several stacks, and fires the alert of a planted fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.support.clients import until
from tests.support.prometheus import monitoring, run_tool
from tests.support.watched import END_S, SCRAPED, watching, write
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.model.project import Project

pytestmark = pytest.mark.nightly("The suite keeps the rules in promtool, and the metrics of a watch.")

ALERTS = REPOSITORY / "docs" / "alerts.yaml"
LOST = "config: {'kafka:bootstrapServers': ['127.0.0.1:1'], 'kafka:tlsEnabled': false}\n"
WAIT_S = 180.0


def test_a_fault_that_is_planted_while_a_watch_runs_reaches_alertmanager(
    project: Project, sandbox: Sandbox, tmp_path: Path
) -> None:
    settings = project.stacks / "Pulumi.lost.yaml"
    settings.write_text(LOST, encoding="utf-8")
    labels = {"check": "null-key", "stack": "dev", "topic": SCRAPED}
    try:
        with watching(project.root, "--every", "1s", stacks=("--all-stacks",)) as watch:
            watch.wait_for_report("/stacks/dev/report.json")
            assert run_tool("promtool", "check", "metrics", text=watch.get("/metrics").text) == ""
            with monitoring(tmp_path, {"watch": f"127.0.0.1:{watch.port}/metrics"}, ALERTS) as started:

                def numbers(query: str) -> dict[str, float]:
                    return {each["metric"]["stack"]: float(each["value"][1]) for each in started.query(query)}

                until(lambda: started.targets().get("watch", {}).get("health") == "up", "a scrape", WAIT_S)
                assert started.targets()["watch"]["lastError"] == ""
                until(lambda: numbers("topicwarden_watch_failed_audits").get("lost", 0) > 0, "the failures", WAIT_S)
                assert numbers("topicwarden_watch_failed_audits")["dev"] == 0
                assert numbers("topicwarden_audit_coverage_ratio") == {"dev": 1}

                assert SCRAPED not in {each.get("topic") for each in started.alerts()}
                write(sandbox, SCRAPED, 5, keys=False)
                until(lambda: any(labels.items() <= each.items() for each in started.alerts()), "the alert", WAIT_S)
                until(lambda: "TopicwardenNullKey" in started.received(), "Alertmanager", WAIT_S)
                assert started.targets()["watch"]["lastError"] == ""
            assert watch.end() < END_S
    finally:
        settings.unlink()
