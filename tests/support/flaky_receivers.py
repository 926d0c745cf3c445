"""A receiver of notifications that fails at random, and random histories of audits for it."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_answers import SLOW, Request, answering, http
from tests.support.notices import KnownFindings, audit, eventually, heard, notifier, receiver
from topicwarden.model.verdict import Verdict
from topicwarden.operations.notices import notifier as notifier_module
from topicwarden.operations.notices import webhook


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
