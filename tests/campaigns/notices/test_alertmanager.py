"""Test alerts with a real Alertmanager: they fire, end, and survive outages.

Without one on the PATH or in ``.cache/prometheus``, a stand-in with the same rules for alerts is used.
``TOPICWARDEN_AGREEMENTS`` and ``TOPICWARDEN_SEED`` ask for other numbers of restarts and other histories.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.alertmanager import AlertStore, alertmanager
from tests.support.notices import EXCERPT, KnownFindings, audit, eventually, receiver
from tests.support.reports import HOUR, NOW
from topicwarden.deliveries import delivery_thread
from topicwarden.model.finding import AuditReport
from topicwarden.model.verdict import Verdict
from topicwarden.notices import notifier as notifier_module
from topicwarden.notices.notifier import Notifier, notifying

PASS, FAIL, UNDECIDABLE = Verdict.PASS, Verdict.FAIL, Verdict.UNDECIDABLE
A, B = ("orders", "null-key"), ("bills", "retention")
OUTAGES = int(os.environ.get("TOPICWARDEN_AGREEMENTS", "2"))
SEED = int(os.environ.get("TOPICWARDEN_SEED", "28"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AlertStore]:
    with alertmanager(tmp_path) as running:
        yield running


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_thread, "FIRST_PAUSE_S", 0.05)
    monkeypatch.setattr(delivery_thread, "LONGEST_PAUSE_S", 0.2)


def recent(report: AuditReport) -> AuditReport:
    """Return the report as of today: Alertmanager compares times with its clock."""
    shift = int(time.time() * 1000) - NOW - 10_000 * HOUR
    return report.model_copy(update={"started": report.started + shift})


def settled(notifier: Notifier) -> None:
    eventually(lambda: all(each.pending == 0 for each in notifier.status().values()))


def test_alerts_fire_and_end(store: AlertStore, tmp_path: Path) -> None:
    with notifying([receiver(store.url, "alertmanager")], tmp_path / "s", "https://r/latest") as one:
        one.take(recent(audit({A: FAIL, B: FAIL})))
        settled(one)
        assert store.firing() == {A: "fail", B: "fail"}
        alert = next(each for each in store.alerts() if each["labels"]["topic"] == "orders")
        assert alert["annotations"] == {
            "summary": "null-key on orders: null-key is fail",
            "description": "null-key is fail",
            "remedy": "Correct the producer.",
            "location": "topics/orders.yaml:7",
            "partitions": "0, 2",
            "report": "https://r/latest",
        }
        assert EXCERPT not in str(alert)
        one.take(recent(audit({A: PASS, B: FAIL}, 1)))
        settled(one)
        assert store.firing() == {B: "fail"}
        assert one.status()["on-call"].rejected == 0


def test_a_verdict_that_changes_replaces_the_alert(store: AlertStore, tmp_path: Path) -> None:
    with notifying([receiver(store.url, "alertmanager")], tmp_path / "s", None) as one:
        for hour in (0, 1):
            one.take(recent(audit({A: UNDECIDABLE}, hour)))
        settled(one)
        assert store.firing() == {A: "undecidable"}
        one.take(recent(audit({A: FAIL}, 2)))
        settled(one)
        assert [each["verdict"] for each in store.labels()] == ["fail"]


def test_an_alertmanager_that_forgets_learns_of_open_alerts_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_thread, "REPEAT_S", 0.2)
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    with alertmanager(tmp_path / "1") as first, notifying([receiver(first.url, "alertmanager")], tmp_path, None) as one:
        one.take(recent(audit({A: FAIL})))
        settled(one)
    with (
        alertmanager(tmp_path / "2") as second,
        notifying([receiver(second.url, "alertmanager")], tmp_path, None) as one,
    ):
        eventually(lambda: second.firing() == {A: "fail"})


def test_random_histories_with_restarts_leave_the_alerts_that_must_fire(
    store: AlertStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier_module, "GRACE_S", 0.1)
    draw, model, hours = random.Random(SEED), KnownFindings(), 0.0
    keys = [(topic, check) for topic in "abc" for check in ("null-key", "retention")]
    for _ in range(OUTAGES):
        # Nothing answers at port 1: an outage.
        url = draw.choice((store.url, "http://127.0.0.1:1"))
        with notifying([receiver(url, "alertmanager")], tmp_path / "s", None) as one:
            for _ in range(draw.randrange(1, 10)):
                hours += draw.choice((0.2, 0.5, 1, 2))
                verdicts = {key: draw.choice(list(Verdict)) for key in keys if draw.random() < 0.7}
                report = recent(audit(verdicts, hours, topics="abc"))
                one.take(report)
                model.audited(report)
    with notifying([receiver(store.url, "alertmanager")], tmp_path / "s", None) as one:
        settled(one)
        assert store.firing() == model.known
        assert len(store.labels()) == len(model.known)
        assert one.status()["on-call"].rejected == 0
