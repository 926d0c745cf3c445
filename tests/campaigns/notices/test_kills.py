"""Test that `kill -9` of a process that delivers loses no change, and repeats at most the delivery under way.

``TOPICWARDEN_KILLS`` and ``TOPICWARDEN_SEED`` ask for other numbers of kills and other histories.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any, Final

from tests.campaigns.notices.audit_loop import report_of
from tests.support.http_answers import Request, answering, http
from tests.support.notices import KnownFindings, heard

KILLS: Final = int(os.environ.get("TOPICWARDEN_KILLS", "5"))
SEED: Final = int(os.environ.get("TOPICWARDEN_SEED", "20261125"))
_REPOSITORY: Final = Path(__file__).parents[3]
_AUDITS: Final = 40
"""The audits that a process is started for; most are killed before the last one."""


class KillingReceiver:
    """Accepts every notification, and kills the sender at a random request: before, at or after the answer."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._sender: subprocess.Popen[str] | None = None
        self._countdown, self._moment = 0, ""
        self.accepted: list[Any] = []
        self.moments: Counter[str] = Counter()

    def aim_at(self, sender: subprocess.Popen[str]) -> None:
        """Kill ``sender`` at one of its next requests."""
        self._moment = self._draw.choice(("before", "accepted", "answered"))
        self._countdown = self._draw.randrange(1, 12)
        self._sender = sender

    def answer(self, request: Request) -> bytes | None:
        """Accept a request, or kill the sender."""
        sender, self._countdown = self._sender, self._countdown - 1
        if sender is None or self._countdown:
            self.accepted.append(request.json)
            return http(b"ok")
        self.moments[self._moment] += 1
        if self._moment == "before":
            sender.kill()
            return b""
        self.accepted.append(request.json)
        if self._moment == "accepted":
            sender.kill()
            return b""
        threading.Timer(self._draw.random() / 100, sender.kill).start()
        return http(b"ok")


def start(state: Path, url: str, first: int, last: int) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "tests.campaigns.notices.audit_loop",
        str(state),
        url,
        *map(str, (SEED, first, last)),
    ]
    return subprocess.Popen(command, cwd=_REPOSITORY, stdout=subprocess.PIPE, text=True)


def test_a_killed_process_loses_no_change_and_repeats_at_most_one_delivery(tmp_path: Path) -> None:
    print(f"TOPICWARDEN_KILLS={KILLS} TOPICWARDEN_SEED={SEED}")
    receiver = KillingReceiver(random.Random(SEED))
    audits = kills = 0
    with answering(receiver.answer) as server:
        while kills < KILLS:
            with start(tmp_path / "s", server.url, audits, audits + _AUDITS) as sender:
                receiver.aim_at(sender)
                output, _ = sender.communicate(timeout=120)
            audits += sum(line.isdigit() for line in output.splitlines())
            assert sender.returncode == -9 or output.endswith("done\n"), sender.returncode
            kills += sender.returncode == -9
        receiver._sender = None
        with start(tmp_path / "s", server.url, audits, audits + 1) as sender:
            assert sender.communicate(timeout=120)[0].endswith("done\n")
    model = KnownFindings()
    for number in range(audits + 1):
        model.audited(report_of(SEED, number))
    assert heard(receiver.accepted) == model.known
    repeated = len(receiver.accepted) - len({each["id"] for each in receiver.accepted})
    assert repeated <= kills
    print(f"{audits} audits, {len(receiver.accepted)} deliveries, {repeated} repeated, {dict(receiver.moments)}")
