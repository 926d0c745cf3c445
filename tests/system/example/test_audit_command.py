"""Test the audit as users start it: as a command, and as a PySpark job."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.support.command import topicwarden
from tests.support.findings import facts, found
from tests.support.projects import Shell
from tests.system.example.conftest import Deployed
from topicwarden.model.finding import AuditReport
from topicwarden.model.verdict import Verdict
from topicwarden.operations import audit as module

COMMANDS = {
    "topicwarden": ["topicwarden", "audit"],
    "spark-submit": ["spark-submit", str(REPOSITORY / "validation" / "audit.py")],
}
FAILS = "fail config-drift shop.orders: retention.ms is 3600000 (set on the topic), declared 604800000"


@pytest.mark.parametrize(
    ("command", "topic", "code", "line"),
    [
        ("topicwarden", "shop.orders", 1, FAILS),
        ("spark-submit", "cache", 0, "suspect compaction-ratio cache [0]: 10 of 11 records are superseded"),
    ],
)
def test_it_prints_and_writes_the_report(
    command: str, topic: str, code: int, line: str, *, report: AuditReport, shell: Shell, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "out"
    done = shell.run(*COMMANDS[command], "--stack", "dev", "--topics", topic, "--history", "none", "--out", out)
    assert done.returncode == code, done.stderr
    assert line in done.stdout
    assert f"\n1 topic, {facts(report, topic).records} records in " in done.stdout
    # spark-submit prints both streams of a Python program to its standard output.
    lines = (done.stdout + done.stderr).splitlines()
    assert {str(out / f"report.{kind}") for kind in ("html", "md", "json")} <= set(lines)

    written = AuditReport.model_validate_json((out / "report.json").read_bytes())
    assert written.topics == [facts(report, topic)]
    for verdict in Verdict:
        assert found(written, verdict) == [one for one in found(report, verdict) if one[0] == topic]


def test_a_pattern_without_a_matching_topic_is_refused_before_spark_starts(
    deployed: Deployed, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "spark_session", lambda *_: pytest.fail("Spark was started"))
    done = topicwarden("audit", "--stack", "dev", "--topics", "shop.odrers", cwd=shell.folder)
    assert (done.code, done.out) == (2, "")
    assert "no topic, declared or on the cluster, matches --topics shop.odrers" in done.err
