"""Test the JSON of notifications and their text for Slack and Mattermost: limits, escapes and contents."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.notices import EXCERPT, audit, finding
from tests.support.reports import HOSTILE_MESSAGE, LONG, SCRIPT
from topicwarden.model.finding import AuditReport
from topicwarden.model.verdict import Verdict
from topicwarden.operations.notices.finding_changes import JudgedChecks, ReceiverMemory, compare_report
from topicwarden.operations.notices.notification import FindingChange, Notification, escaped, notification_text, schema

PASS, FAIL, UNDECIDABLE = Verdict.PASS, Verdict.FAIL, Verdict.UNDECIDABLE
REPORT = "https://reports.example.com/latest.html?a=1&b=|"
A = ("orders", "null-key")


def notification(changes: list[FindingChange], **fields: Any) -> Notification:
    values = {"id": "0f" * 16, "sequence": 7, "text": "t", "report_url": REPORT, "changes": changes, "open": []}
    return Notification.model_validate(values | {"open_total": 0} | fields)


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
def test_a_text_keeps_the_limits_of_slack_and_mattermost(count: int) -> None:
    text = notification_text(hostile(count), 1_000_000, "https://reports.example.com/" + "x" * 900)
    assert len(text) <= 12_000
    assert ("more change" in text) == (count > 12)


def test_a_text_mentions_nobody_and_has_no_links_of_others() -> None:
    text = notification_text(hostile(10), 10, REPORT)
    assert text.endswith("\n<https://reports.example.com/latest.html?a=1&amp;b=%7C|Report>")
    lines = text.splitlines()[:-1]
    outside = "".join("".join(line.split("`")[::2]) for line in lines)
    assert not {"<", ">", "@", "["} & {*outside} and "http" not in outside
    assert all(line.count("`") % 2 == 0 and "<" not in line for line in lines)
    assert "&lt;!channel&gt;" in text
    assert "\x1b" not in text and "\u202e" not in text


def test_a_text_has_the_facts_of_a_finding() -> None:
    assert notification_text(changes_of(audit({A: FAIL})), 3, None) == (
        "*topicwarden* `prod`: 1 fail; 3 open\n"
        "• *Fails:* `null-key` on `orders`: `null-key is fail` · owner `team-o` · `topics/orders.yaml:7` · "
        "since 2025-10-09T08:53:20Z"
    )


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
