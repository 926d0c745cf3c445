"""Test the messages for Slack and the alerts for Alertmanager: limits, escapes, and the state that they express."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.notices import EXCERPT, audit, finding
from tests.support.reports import HOSTILE_MESSAGE, HOUR, LONG, NOW, SCRIPT
from topicwarden.model.finding import AuditReport
from topicwarden.model.verdict import Verdict
from topicwarden.notices.alertmanager_alerts import LIFETIME_MS, render_alerts
from topicwarden.notices.finding_changes import JudgedChecks, ReceiverMemory, compare_report
from topicwarden.notices.notification import FindingChange, Notification, schema
from topicwarden.notices.slack_message import escaped, render_slack

PASS, FAIL, UNDECIDABLE = Verdict.PASS, Verdict.FAIL, Verdict.UNDECIDABLE
REPORT = "https://reports.example.com/latest.html?a=1&b=|"
A = ("orders", "null-key")


def notification(changes: list[FindingChange], **fields: Any) -> Notification:
    values = {"id": "0f" * 16, "sequence": 7, "combined": False, "report_url": REPORT, "changes": changes}
    return Notification.model_validate(values | fields)


def changes_of(report: AuditReport) -> list[FindingChange]:
    return compare_report(ReceiverMemory(), JudgedChecks(report))[1]


def hostile(count: int) -> list[FindingChange]:
    """Return changes with long and hostile text."""
    report = audit({(f"{index}{LONG}"[:249], "record-size"): FAIL for index in range(count)})
    texts = [HOSTILE_MESSAGE, "<" * 5_000, "&" * 5_000, "<!channel> <@U012> <http://evil|ok> `x`", "é😀" * 3_000]
    for index, each in enumerate(report.findings):
        text = texts[index % len(texts)]
        report.findings[index] = finding(each.topic, each.check, FAIL, message=text, remedy=text)
    return changes_of(report)


@pytest.mark.parametrize("count", [1, 12, 13, 100])
def test_a_message_keeps_the_limits_of_slack(count: int) -> None:
    message = json.loads(render_slack(notification(hostile(count), combined=True)))
    blocks = message["blocks"]
    texts = [block["text"]["text"] for block in blocks if "text" in block]
    texts += [each["text"] for block in blocks for each in block.get("elements", ())]
    assert len(blocks) <= 50
    assert all(1 <= len(text) <= 3_000 for text in texts)
    assert sum(map(len, texts)) + len(message["text"]) <= 12_000
    assert len(blocks[0]["text"]["text"]) <= 150
    assert len({block["block_id"] for block in blocks}) == len(blocks)
    assert all(len(block["block_id"]) <= 255 for block in blocks)
    assert ("more change" in texts[-1]) == (count > 12)


def test_a_message_for_slack_mentions_nobody_and_has_no_links_of_others() -> None:
    message = render_slack(notification(hostile(10))).decode()
    sections = json.dumps(json.loads(message)["blocks"][:-1])
    assert "<" not in sections and "&lt;!channel&gt;" in sections
    assert "\x1b" not in message and "\u202e" not in message
    assert "<https://reports.example.com/latest.html?a=1&amp;b=%7C|Report>" in message


def test_a_message_for_slack_has_the_facts_of_a_finding() -> None:
    (block,) = json.loads(render_slack(notification(changes_of(audit({A: FAIL})))))["blocks"][1:-1]
    assert block["text"] == {
        "type": "mrkdwn",
        "verbatim": True,
        "text": "*Fails:* `null-key` on `orders`\nnull-key is fail\n*Remedy:* Correct the producer.\n"
        "team-o · `topics/orders.yaml:7` · since 2025-10-09T08:53:20Z",
    }


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [("a<b", 9, "a&lt;b"), ("a<b", 6, "a&lt;…"), ("a<b", 5, "a…"), ("&&", 11, "&amp;&amp;"), ("a\n\tb`", 9, "a b'")],
)
def test_an_escape_is_never_cut(text: str, most: int, expected: str) -> None:
    assert escaped(text, most) == expected


def test_a_notification_meets_its_schema() -> None:
    validator = Draft202012Validator(schema())
    for changes in (hostile(20), changes_of(audit({(SCRIPT, "header"): FAIL}))):
        value = json.loads(notification(changes).model_dump_json())
        assert list(validator.iter_errors(value)) == []
        assert EXCERPT not in json.dumps(value)


def alerts_of(changes: list[FindingChange], known: list[FindingChange], now: int) -> dict[str, dict[str, Any]]:
    """Return the alerts by verdict; each must have what Alertmanager requires."""
    alerts = json.loads(render_alerts(changes, known, REPORT, now))
    for alert in alerts:
        assert alert["startsAt"] <= alert["endsAt"]
        assert all(alert["labels"].values()) and all(isinstance(each, str) for each in alert["annotations"].values())
    by_verdict = {alert["labels"]["verdict"]: alert for alert in alerts}
    assert len(by_verdict) == len(alerts)
    return by_verdict


def test_a_new_fail_fires_longer_than_the_pause_until_it_is_sent_again() -> None:
    memory, changes = compare_report(ReceiverMemory(), JudgedChecks(audit({A: FAIL})))
    assert alerts_of(changes, memory.open, NOW + 1_000) == {
        "fail": {
            "labels": {
                "alertname": "TopicwardenFinding",
                "stack": "prod",
                "topic": "orders",
                "check": "null-key",
                "verdict": "fail",
                "owner": "team-o",
            },
            "annotations": {
                "summary": "null-key on orders: null-key is fail",
                "description": "null-key is fail",
                "remedy": "Correct the producer.",
                "location": "topics/orders.yaml:7",
                "partitions": "0, 2",
                "report": REPORT,
            },
            "startsAt": "2025-10-09T08:53:20Z",
            "endsAt": "2025-10-09T09:53:21Z",
            "generatorURL": REPORT,
        }
    }
    assert LIFETIME_MS > 10 * 300_000, "longer than the longest pause between attempts"


def test_a_resolved_alert_has_the_labels_of_the_one_that_fired() -> None:
    memory, fail = compare_report(ReceiverMemory(), JudgedChecks(audit({A: FAIL})))
    changed = audit({A: PASS}, 1)
    changed.topics[0] = changed.topics[0].model_copy(update={"owner": "another-team"})
    after, resolved = compare_report(memory, JudgedChecks(changed))
    first = alerts_of(fail, memory.open, NOW)["fail"]
    last = alerts_of(resolved, after.open, NOW + 2 * HOUR)["fail"]
    assert first["labels"] == last["labels"] and last["endsAt"] == "2025-10-09T09:53:20Z"


def test_an_undecidable_alert_ends_when_the_check_fails() -> None:
    memory, _ = compare_report(ReceiverMemory(), JudgedChecks(audit({A: UNDECIDABLE})))
    memory, _ = compare_report(memory, JudgedChecks(audit({A: UNDECIDABLE}, 1)))
    memory, changes = compare_report(memory, JudgedChecks(audit({A: FAIL}, 2)))
    now = NOW + 2 * HOUR
    assert {verdict: each["endsAt"] for verdict, each in alerts_of(changes, memory.open, now).items()} == {
        "fail": "2025-10-09T11:53:20Z",
        "undecidable": "2025-10-09T10:53:20Z",
    }


def test_an_alert_that_waited_until_it_was_over_is_sent_as_resolved() -> None:
    memory, fail = compare_report(ReceiverMemory(), JudgedChecks(audit({A: FAIL})))
    after, _ = compare_report(memory, JudgedChecks(audit({A: PASS}, 1)))
    assert alerts_of(fail, after.open, NOW + HOUR)["fail"]["endsAt"] == "2025-10-09T09:53:20Z"
