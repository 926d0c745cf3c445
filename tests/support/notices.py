"""Reports with given verdicts, and the model of what a receiver of notifications must know."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from tests.support.reports import HOUR, NOW, report, topic
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.problem import Location
from topicwarden.model.verdict import Verdict
from topicwarden.stacks.receiver_settings import Receiver

SECRET_PATH: Final = "/services/T00SECRET/B00SECRET/x0x0secret"
"""The path of a webhook, which no file, log or message may contain."""
EXCERPT: Final = "4111-1111-1111-1111"
"""An excerpt of a record, in the parts of a finding that may have one."""
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


def receiver(url: str, kind: str = "json", name: str = "on-call", **fields: Any) -> Receiver:
    """Return a receiver at ``url``."""
    return Receiver(name, kind, url, **fields)  # type: ignore[arg-type]


def eventually(condition: Callable[[], object], deadline_s: float = 30.0) -> None:
    """Wait until ``condition`` is true. Fail after ``deadline_s`` seconds."""
    until = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < until, "the condition did not become true in time"
        time.sleep(0.005)
