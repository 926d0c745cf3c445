"""The notification about changed findings: the published JSON (``topicwarden schema notification``), and its text.

A notification has no evidence and no reasons of a finding, so it cannot contain an excerpt of a record or a key.

Text from outside is inline code, in which Slack and Mattermost show no links and mention nobody.
Source: https://docs.slack.dev/messaging/formatting-message-text and
https://developers.mattermost.com/integrate/webhooks/incoming
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import Field

from topicwarden.model.field_types import StrictModel
from topicwarden.model.message_text import counted_more
from topicwarden.model.problem import Location
from topicwarden.report.display import one_line, timestamp

AnnouncedVerdict = Literal["fail", "undecidable"]


class FindingChange(StrictModel):
    """The change of one check's verdict on one topic. Times are milliseconds since the epoch."""

    change: Literal["fail", "undecidable", "resolved", "withdrawn"] = Field(
        description="`fail`: the check fails now. `undecidable`: the check has not been able to judge the topic for an "
        "hour. `resolved`: what an earlier notification reported is over. `withdrawn`: this version of the check no "
        "longer concludes it."
    )
    was: AnnouncedVerdict | None = Field(description="What an earlier notification reported; null for a new finding.")
    stack: str
    topic: str = Field(description="The topic; `(cluster)` for a finding on access that concerns no single topic.")
    check: str = Field(description="The check's id, as `topicwarden rules` lists it.")
    findings: int = Field(description="The number of findings of this check on this topic with this verdict.")
    partitions: list[int] = Field(description="The affected partitions; empty for the whole topic.")
    owner: str | None = Field(description="The declared owner; null if the YAML declares none.")
    location: Location | None = Field(description="The line of YAML that declares the expectation.")
    message: str = Field(
        description="The message of the first finding; for `resolved` and `withdrawn`, why it is over."
    )
    remedy: str = Field(description="What to do about it; empty for `resolved` and `withdrawn`.")
    since: int = Field(description="The first audit that saw the problem.")
    changed: int = Field(description="The start of the audit that saw the change.")

    @property
    def key(self) -> tuple[str, str, str]:
        """The stack, the topic and the check, which identify what changed."""
        return self.stack, self.topic, self.check

    @property
    def verdict(self) -> AnnouncedVerdict | None:
        """The verdict that the receiver knows after this change; None if nothing is open."""
        if self.change == "resolved" or self.change == "withdrawn":  # noqa: PLR1714 -- mypy narrows no membership
            return None
        return self.change


class StillOpen(StrictModel):
    """A finding that is open after a notification."""

    stack: str
    topic: str
    check: str
    verdict: AnnouncedVerdict
    since: int


class Notification(StrictModel):
    """The changes since the previous notification to the same receiver, and the findings that are open now."""

    schema_version: Literal[2] = 2
    id: str = Field(
        description="Identifies the notification, also as the header `Idempotency-Key`. A repeated delivery has the "
        "same id and the same contents."
    )
    sequence: int = Field(description="Grows with each notification to this receiver; numbers may be left out.")
    text: str = Field(description="The notification for people, which incoming webhooks of Slack and Mattermost show.")
    report_url: str | None = Field(description="The latest report; null if it is not published.")
    changes: list[FindingChange] = Field(description="What is new or resolved, the worst first; at most 100.")
    open: list[StillOpen] = Field(description="What is open after the changes, the newest first; at most 100.")
    open_total: int = Field(description="The number of findings that are open after the changes.")


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a notification."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:topicwarden:notification:2",
        **Notification.model_json_schema(mode="serialization"),
        "title": "topicwarden notification",
    }


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
