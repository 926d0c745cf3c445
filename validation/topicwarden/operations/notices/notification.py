"""The notification about changed findings: the published JSON (``topicwarden schema notification``).

A notification has no evidence and no reasons of a finding, so it cannot contain an excerpt of a record or a key.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from topicwarden.model.field_types import StrictModel
from topicwarden.model.problem import Location

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
