"""Write the text of a notification, which Slack's and Mattermost's incoming webhooks show.

Text from outside is inline code, in which both show no links and mention nobody.
Source: https://docs.slack.dev/messaging/formatting-message-text and
https://developers.mattermost.com/integrate/webhooks/incoming
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from topicwarden.model.message_text import counted_more
from topicwarden.operations.notices.notification import FindingChange
from topicwarden.report.display import one_line, timestamp

MOST_CHANGES: Final = 12
"""How many changes the text has; the JSON has all. Slack recommends 4,000 characters, Mattermost allows 16,383."""
_MOST_LINK: Final = 1_000
_TITLES: Final = {"fail": "Fails", "undecidable": "Cannot be judged", "resolved": "Resolved", "withdrawn": "Withdrawn"}


def notification_text(changes: Sequence[FindingChange], open_total: int, report_url: str | None) -> str:
    """Return the text for ``changes``, after which ``open_total`` findings are open."""
    counts = Counter(change.change for change in changes)
    stacks = sorted({change.stack for change in changes})
    news = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    lines = [f"*topicwarden* {', '.join(_code(stack, 60) for stack in stacks)}: {news}; {open_total} open"]
    lines += [_line(change) for change in changes[:MOST_CHANGES]]
    if len(changes) > MOST_CHANGES:
        lines.append(f"… and {counted_more(len(changes) - MOST_CHANGES, 'change')}")
    link = escaped(report_url or "", _MOST_LINK).replace("|", "%7C")
    if link and not link.endswith("…"):
        lines.append(f"<{link}|Report>")
    return "\n".join(lines)


def escaped(text: str, most: int) -> str:
    """Return ``text`` on one line as Slack's mrkdwn, at most ``most`` characters.

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


def _code(text: str, most: int) -> str:
    return f"`{escaped(text, most)}`"


def _line(change: FindingChange) -> str:
    parts = [_code(change.message, 160), *([f"owner {_code(change.owner, 40)}"] if change.owner else [])]
    if change.location:
        parts.append(_code(f"{change.location.file}:{change.location.line}", 60))
    parts.append(f"since {timestamp(change.since)}")
    return f"• *{_TITLES[change.change]}:* {_code(change.check, 40)} on {_code(change.topic, 100)}: {' · '.join(parts)}"
