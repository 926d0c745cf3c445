"""Write a notification as a message of Slack's incoming webhooks, within the limits of Block Kit.

Source: https://docs.slack.dev/reference/block-kit/blocks and https://docs.slack.dev/messaging/formatting-message-text
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Final

from topicwarden.model.message_text import counted
from topicwarden.notices.notification import FindingChange, Notification
from topicwarden.report.display import one_line, timestamp

MOST_CHANGES: Final = 12
"""Slack refuses a message with more than 50 blocks, and one whose texts have more than about 12,000 characters."""
_MOST_SECTION: Final = 750
"""The most characters of a section, escaped. Slack's own limit is 3,000."""
_MOST_HEADER: Final = 150
_MOST_LINK: Final = 1_000
_TITLES: Final = {"fail": "Fails", "undecidable": "Cannot be judged", "resolved": "Resolved", "withdrawn": "Withdrawn"}


def render_slack(notification: Notification) -> bytes:
    """Return the JSON of the message. Each block has the notification's id, which shows a repeated delivery."""
    changes = notification.changes
    title = _title(changes)
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": _cut(title, _MOST_HEADER), "emoji": False}}
    ]
    blocks += [_section(_change_text(change)) for change in changes[:MOST_CHANGES]]
    blocks.append({"type": "context", "elements": [_mrkdwn(_footer(notification))]})
    for index, block in enumerate(blocks):
        block["block_id"] = f"{notification.id}-{index}"
    return json.dumps({"text": escaped(title, _MOST_SECTION), "blocks": blocks}, ensure_ascii=False).encode()


def escaped(text: str, most: int) -> str:
    """Return ``text`` on one line as Slack's mrkdwn, in which it mentions nobody; at most ``most`` characters.

    A back quote becomes an apostrophe, because code has no escape for it.
    """
    shown: list[str] = []
    length = 0
    for character in one_line(text):
        piece = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "'"}.get(character, character)
        if length + len(piece) > most - 1:
            return "".join((*shown, "…"))
        shown.append(piece)
        length += len(piece)
    return "".join(shown)


def _title(changes: list[FindingChange]) -> str:
    counts = Counter(change.change for change in changes)
    parts = [f"{number} {kind}" for kind, number in counts.items()]
    stacks = sorted({change.stack for change in changes})
    return f"topicwarden: {', '.join(parts)} on {'stack' if len(stacks) == 1 else 'stacks'} {', '.join(stacks)}"


def _change_text(change: FindingChange) -> str:
    lines = [
        f"*{_TITLES[change.change]}:* `{escaped(change.check, 60)}` on `{escaped(change.topic, 260)}`",
        escaped(change.message, 200),
    ]
    if change.remedy:
        lines.append(f"*Remedy:* {escaped(change.remedy, 120)}")
    facts = [f"since {timestamp(change.since)}"]
    if change.location:
        facts.insert(0, f"`{escaped(f'{change.location.file}:{change.location.line}', 60)}`")
    if change.owner:
        facts.insert(0, escaped(change.owner, 40))
    lines.append(" · ".join(facts))
    return "\n".join(line for line in lines if line)


def _footer(notification: Notification) -> str:
    parts = []
    more = len(notification.changes) - MOST_CHANGES
    if more > 0:
        counts = Counter(change.change for change in notification.changes[MOST_CHANGES:])
        parts.append(f"… and {counted(more, 'more change')}: " + ", ".join(f"{n} {kind}" for kind, n in counts.items()))
    if notification.combined:
        parts.append("changes of several audits, combined")
    url = notification.report_url
    if url:
        link = escaped(url, _MOST_LINK).replace("|", "%7C")
        if not link.endswith("…"):
            parts.append(f"<{link}|Report>")
    return " · ".join(parts) or "The report has the evidence."


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": _mrkdwn(text)}


def _mrkdwn(text: str) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _cut(text: str, most: int) -> str:
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"
