"""The accepted timestamps, or their type, change: records are refused, or expire at another time.

A record outside ``message.timestamp.before.max.ms`` and ``message.timestamp.after.max.ms`` is refused with
INVALID_TIMESTAMP (KIP-937). Retention by time uses the records' timestamps. With CreateTime the producers set these, so
a record with a timestamp in the past expires sooner. Existing records do not change.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.kinds.topic.setting_effects import EFFECTS
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.plan.consequence_text import changes_text

AVOIDABLE = False
TYPE = "message.timestamp.type"
LIMITS = tuple(name for name, effect in EFFECTS.items() if effect.consequence == "timestamp-limit")


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence() if change.changed(TYPE) or change.lowered(*LIMITS) else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.before and change.after
    for name in change.lowered(*LIMITS):
        yield Consequence(
            kind="timestamp-limit",
            severity=Severity.DANGER,
            message=f"{changes_text([name], change.before, change.after)}: records outside this limit are "
            "refused with INVALID_TIMESTAMP",
            evidence={"setting": name},
            location=change.at("config", name),
        )
    if change.changed(TYPE):
        after = change.after.config.get(TYPE)
        expires = after == "CreateTime" and change.after.retention_time is not None
        yield Consequence(
            kind="timestamp-type",
            severity=Severity.DANGER if expires else Severity.NOTE,
            message=f"{TYPE} goes from {change.before.config.get(TYPE)} to {after}: "
            + (
                "new records expire by the producers' clocks; a record with a timestamp in the past expires sooner"
                if expires
                else "new records have other timestamps than producers or consumers may expect"
            ),
            because=["existing records keep their timestamps"],
            location=change.at("config", TYPE),
        )
