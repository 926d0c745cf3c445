"""Write open and resolved findings as alerts for Alertmanager's API v2: ``POST /api/v2/alerts``.

An alert is identified by its labels. It fires until ``endsAt``, so open findings are sent again and again.

Source: https://prometheus.io/docs/alerting/latest/alerts_api
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from topicwarden.model.timestamps import utc
from topicwarden.notices.notification import AnnouncedVerdict, FindingChange

PATH: Final = "/api/v2/alerts"
ALERT_NAME: Final = "TopicwardenFinding"
LIFETIME_MS: Final = 3_600_000
"""How long an alert fires after it was sent last: also while a process is replaced or a machine restarts."""


def render_alerts(
    changes: Iterable[FindingChange], open_findings: Iterable[FindingChange], report_url: str | None, now: int
) -> bytes:
    """Return the JSON of the alerts of ``changes``, as they are now: those of ``open_findings`` fire, others end.

    A change that waited for its delivery may be over. It is sent as resolved, because an earlier attempt may have
    arrived. ``now`` is in milliseconds.
    """
    current = {change.key: change for change in open_findings}
    alerts = []
    for change in changes:
        known = current.get(change.key)
        if known:
            alerts.append(_alert(known, known.change, known.since, now + LIFETIME_MS, report_url))
        for verdict in dict.fromkeys((change.was, change.verdict)):
            if verdict and (known is None or known.verdict != verdict):
                ended = min(change.changed, now) if change.verdict is None else now
                alerts.append(_alert(change, verdict, min(change.since, ended), ended, report_url))
    return json.dumps(alerts, ensure_ascii=False).encode()


def _alert(
    finding: FindingChange, verdict: AnnouncedVerdict | str, starts: int, ends: int, report_url: str | None
) -> dict[str, Any]:
    labels = {
        "alertname": ALERT_NAME,
        "stack": finding.stack,
        "topic": finding.topic,
        "check": finding.check,
        "verdict": verdict,
        "owner": finding.owner,
    }
    location = finding.location
    annotations = {
        "summary": f"{finding.check} on {finding.topic}: {finding.message}",
        "description": finding.message,
        "remedy": finding.remedy,
        "location": f"{location.file}:{location.line}" if location else "",
        "partitions": ", ".join(map(str, finding.partitions)),
        "report": report_url or "",
    }
    alert: dict[str, Any] = {
        "labels": {name: value for name, value in labels.items() if value},
        "annotations": {name: value for name, value in annotations.items() if value},
        "startsAt": utc(starts),
        "endsAt": utc(ends),
    }
    return alert | ({"generatorURL": report_url} if report_url else {})
