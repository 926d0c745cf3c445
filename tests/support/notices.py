"""Reports with given verdicts, the model of what a receiver must know, and receivers that fail at times."""

from __future__ import annotations

import json
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.http_answers import SLOW, Request, answering, http
from tests.support.reports import HOUR, NOW, report, topic
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.problem import Location
from topicwarden.model.verdict import Verdict
from topicwarden.operations.notices import notifier as notifier_module
from topicwarden.operations.notices import webhook
from topicwarden.operations.notices.finding_changes import JudgedChecks, ReceiverMemory, compare_report
from topicwarden.operations.notices.notification import FindingChange
from topicwarden.operations.notices.notifier import Notifier
from topicwarden.specs.stacks.delivery_settings import Receiver
from topicwarden.usage.history_files import LocalFiles

SECRET_PATH: Final = "/services/T00SECRET/B00SECRET/x0x0secret"
"""The path of a webhook, which no file, log or message may contain."""
EXCERPT: Final = "4111-1111-1111-1111"
"""An excerpt of a record, in the parts of a finding that may have one."""
_FAIL: Final = Verdict.FAIL
Verdicts = Mapping[tuple[str, str], Verdict]
"""The verdicts of an audit, by topic and check. Without a verdict, a check does not apply."""
Known = Mapping[tuple[str, str], str]
"""What a receiver knows: `fail` or `undecidable` by topic and check."""


def audit(verdicts: Verdicts, at_hours: float = 0, *, stack: str = "prod", topics: Iterable[str] = ()) -> AuditReport:
    """Return the report of an audit ``at_hours`` after the first one; ``topics`` are audited without a finding."""
    started = NOW + int(at_hours * HOUR)
    names = sorted({*topics, *(name for name, _ in verdicts)})
    findings = [finding(name, check, verdict) for (name, check), verdict in verdicts.items()]
    made = report([topic(name, [], owner=f"team-{name[0]}") for name in names], findings)
    return made.model_copy(update={"stack": stack, "started": started})


def finding(name: str, check: str, verdict: Verdict, **fields: Any) -> Finding:
    """Return a finding with a line of YAML, and with excerpts where a report may have them."""
    values: dict[str, Any] = {
        "check": check,
        "verdict": verdict,
        "topic": name,
        "partitions": [0, 2],
        "message": "" if verdict is Verdict.PASS else f"{check} is {verdict.value}",
        "because": [f"1 × unexpected value ({EXCERPT}): partition 0: offset 7"],
        "evidence": {"value": EXCERPT},
        "remedy": "Correct the producer.",
        "location": Location(f"topics/{name}.yaml", 7, 3),
    }
    return Finding.model_validate(values | fields)


class KnownFindings:
    """The model: what a receiver must know after a series of audits of one stack, without its deliveries."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], str] = {}
        self._undecidable_from: dict[tuple[str, str], int] = {}

    def audited(self, report_of_audit: AuditReport) -> None:
        """Follow the rules of docs/reference/notifications.md."""
        verdicts = {(each.topic, each.check): each.verdict for each in report_of_audit.findings}
        for key in {*self.known, *self._undecidable_from, *verdicts}:
            verdict, now = verdicts.get(key, Verdict.PASS), report_of_audit.started
            if verdict is Verdict.UNDECIDABLE:
                since = self._undecidable_from.setdefault(key, now)
                if now - since >= HOUR:
                    self.known.setdefault(key, "undecidable")
            else:
                self._undecidable_from.pop(key, None)
            if verdict is Verdict.FAIL:
                self.known[key] = "fail"
            elif verdict is Verdict.PASS or (verdict is Verdict.SUSPECT and self.known.get(key) == "undecidable"):
                self.known.pop(key, None)


def heard(notifications: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """Return what a receiver knows that processes notifications in order, each id once. Fail for a wrong ``was``."""
    known: dict[tuple[str, str], str] = {}
    seen: dict[str, Any] = {}
    sequence = 0
    for notification in notifications:
        if notification["id"] in seen:
            assert notification == seen[notification["id"]], "a repeated delivery has other contents"
            continue
        seen[notification["id"]] = notification
        assert notification["sequence"] > sequence, "notifications arrive in the wrong order"
        sequence = notification["sequence"]
        for change in notification["changes"]:
            key = change["topic"], change["check"]
            assert change["was"] == known.pop(key, None), "a change was lost or doubled"
            if change["change"] != "resolved":
                known[key] = change["change"]
    return known


def receiver(url: str, name: str = "on-call", **fields: Any) -> Receiver:
    """Return a receiver at ``url``."""
    return Receiver(name, url, **fields)


def notifier(receivers: Sequence[Receiver], history: Path, report_url: str | None = None) -> Notifier:
    """Return a notifier with the ``history``, as a process has it after its start."""
    made = Notifier(LocalFiles(), str(history), history.parent / "old", report_url)
    made.use(receivers)
    return made


def old_queue(file: Path, state: str, payloads: Sequence[dict[str, Any]]) -> None:
    """Write a queue as earlier versions did."""
    file.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(file)
    database.execute("CREATE TABLE payloads (number INTEGER PRIMARY KEY AUTOINCREMENT, content BLOB NOT NULL)")
    database.execute("CREATE TABLE owner (state TEXT NOT NULL)")
    database.execute("PRAGMA user_version = 1")
    database.executemany(
        "INSERT INTO payloads (content) VALUES (?)", [(json.dumps(each).encode(),) for each in payloads]
    )
    database.execute("INSERT INTO owner VALUES (?)", (state,))
    database.commit()
    database.close()


def _payload(sequence: int, changes: list[FindingChange]) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "id": f"id-{sequence}",
        "sequence": sequence,
        "combined": False,
        "report_url": None,
        "changes": [each.model_dump(mode="json") for each in changes],
    }


def waiting_queue(file: Path) -> None:
    """Write a queue in which a failure of orders, then one of bills, then the end of the first one wait."""
    orders, bills = ("orders", "null-key"), ("bills", "retention")
    memory, payloads = ReceiverMemory(), []
    for number, verdicts in enumerate(
        ({orders: _FAIL}, {orders: _FAIL, bills: _FAIL}, {orders: Verdict.PASS, bills: _FAIL})
    ):
        memory, found = compare_report(memory, JudgedChecks(audit(verdicts, number)))
        payloads.append(_payload(number + 1, found))
    old_queue(file, json.dumps(memory.model_dump(mode="json", include={"open", "unjudged"})), payloads)


def eventually(condition: Callable[[], object], deadline_s: float = 30.0) -> None:
    """Wait until ``condition`` is true. Fail after ``deadline_s`` seconds."""
    until = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < until, "the condition did not become true in time"
        time.sleep(0.005)


class FlakyReceiver:
    """A receiver that answers, refuses, hangs and closes at random, and keeps every notification that it accepted.

    Some answers are lost after the notification was accepted.
    """

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.healthy = draw, False
        self.accepted: list[Mapping[str, Any]] = []
        self.lock = threading.Lock()

    def answer(self, request: Request) -> bytes | None:
        """Return the answer to ``request``, or None for none."""
        with self.lock:
            choice = 9 if self.healthy else self.draw.randrange(10)
            if choice >= 6:
                self.accepted.append(request.json)
                return http(b"ok") if choice > 6 else b""
        busy = http(b"", "503 Service Unavailable")
        return (busy, b"", http(b"", "429 Too Many Requests"), http(b"", "302 Found"), SLOW, busy)[choice]


def deliver_random_history(seed: int, processes: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Audit in several processes, one after the other, and compare what the receiver knows with the model."""
    monkeypatch.setattr(webhook, "TIMEOUT_S", 0.1)
    monkeypatch.setattr(notifier_module, "DEADLINE_S", 0.05)
    draw = random.Random(seed)
    flaky, model = FlakyReceiver(random.Random(seed)), KnownFindings()
    keys = [(topic, check) for topic in "abc" for check in ("null-key", "retention")]
    hours = 0.0
    with answering(flaky.answer) as server:
        for _ in range(processes):
            # Nothing answers at port 1: an outage.
            one = notifier([receiver(draw.choice((server.url, server.url, "http://127.0.0.1:1")))], folder / "h")
            for _ in range(draw.randrange(1, 15)):
                hours += draw.choice((0.2, 0.5, 1, 2))
                verdicts = {key: draw.choice(list(Verdict)) for key in keys if draw.random() < 0.7}
                report = audit(verdicts, hours, topics="abc")
                one.take(report)
                model.audited(report)
            eventually(lambda: not [each for each in threading.enumerate() if each.name.startswith(webhook.THREAD)])
        flaky.healthy = True
        monkeypatch.setattr(notifier_module, "DEADLINE_S", 30)
        one = notifier([receiver(server.url)], folder / "h")
        one.take(report)
    assert one.status()["on-call"].pending == 0
    assert heard(flaky.accepted) == model.known
