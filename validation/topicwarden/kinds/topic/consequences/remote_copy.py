"""Segments are copied to remote storage later: until then, they are lost with the last local replica.

A segment that is not active is copied as soon as it is older than ``remote.copy.lag.ms``, or as soon as
``remote.copy.lag.bytes`` of newer data follow. 0 in one of the two copies it at once, -1 means the local
retention. Brokers delete no local segment that was not copied, so their disks keep more, too.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.plan.consequence_text import changes_text

AVOIDABLE = True
SETTINGS = ("remote.copy.lag.ms", "remote.copy.lag.bytes")


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    if change.after is None or change.after.config.get("remote.storage.enable") != "true":
        return None
    at_once = any(change.after.config.get(setting) == "0" for setting in SETTINGS)
    return RequiredEvidence() if change.raised(*SETTINGS) and not at_once else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.before and change.after
    names = change.raised(*SETTINGS)
    yield Consequence(
        kind="remote-copy",
        severity=Severity.DANGER,
        message=f"{changes_text(names, change.before, change.after)}: segments are copied to remote storage later; "
        "until then they are lost with the last local replica, and fill the disks of the brokers",
        because=["-1 means the local retention"] if "-1" in map(change.after.config.get, names) else [],
        remedy="leave it as it is, unless the cost of remote storage matters more",
        location=change.at("config", names[0]),
    )
