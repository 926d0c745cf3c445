"""Test the end of the demo on its cluster: a fault that is planted while `topicwarden watch` runs fires an alert."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.projects import copy_of_the_example
from tests.support.prometheus import program
from topicwarden.cli.demo import watch_chapter
from topicwarden.cli.demo.watch_chapter import plant_while_watching
from topicwarden.model.problem import Refusal


@pytest.mark.nightly("The suite keeps the rules in promtool, and a watch that finds a fault.")
@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("alert", ["TopicwardenConfigDrift", "Notification"])
def test_a_fault_fires_its_alert_while_watch_runs(
    alert: str, servers: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The alert comes from Prometheus, or, where there is none, from a notification."""

    def find_prometheus(caches: object) -> str:
        if alert == "TopicwardenConfigDrift":
            return program("prometheus")
        raise Refusal("there is no Prometheus")

    monkeypatch.setattr(watch_chapter, "find_prometheus", find_prometheus)
    monkeypatch.setattr(watch_chapter, "LIMIT_S", 240.0)  # a machine of CI is slow
    project = copy_of_the_example(tmp_path / "project")
    settings = project.stacks / "Pulumi.dev.yaml"
    history = f"config:\n  topicwarden:history: {tmp_path / 'history'}\n"  # not that of the other tests
    settings.write_text(settings.read_text(encoding="utf-8").replace("config:\n", history), encoding="utf-8")
    fault = plant_while_watching(project, servers, tmp_path / "reports")
    assert fault.before is None
    assert fault.alert is not None
    assert fault.alert["labels"].items() >= {"alertname": alert, "topic": "shop.orders", "owner": "team-shop"}.items()
    assert fault.finding is not None
    assert fault.finding.location is not None
    assert fault.finding.location.file == "topics/shop/shop.orders.yaml"
    assert [expected == actual for _, expected, actual in fault.outcomes()] == [True] * 3
    assert "config-drift" in (tmp_path / "reports" / "watch.html").read_text(encoding="utf-8")
