"""Take the reports of a random history, and deliver the notifications.

Run it with ``python -m tests.campaigns.notices.audit_loop …``.

The arguments are the folder of the history, the URL of the receiver, the seed, and the first and the last audit. Prints
the number of each audit whose report was taken, and `done` once nothing is pending.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from tests.support.notices import audit, notifier, receiver
from topicwarden.model.finding import AuditReport
from topicwarden.model.verdict import Verdict

_KEYS = [(topic, check) for topic in "abc" for check in ("null-key", "retention")]


def report_of(seed: int, number: int) -> AuditReport:
    """Return the report of an audit; the same one for the same arguments."""
    draw = random.Random(f"{seed}/{number}")
    return audit({key: draw.choice(list(Verdict)) for key in _KEYS if draw.random() < 0.7}, number / 2, topics="abc")


def main(history: str, url: str, seed: str, first: str, last: str) -> None:
    notified = notifier([receiver(url)], Path(history))
    for number in range(int(first), int(last)):
        notified.take(report_of(int(seed), number))
        print(number, flush=True)
    if notified.status()["on-call"].pending == 0:
        print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
