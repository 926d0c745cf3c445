"""The accepted timestamps, or their type, change: records are refused, or expire at another time.

A record outside ``message.timestamp.before.max.ms`` and ``message.timestamp.after.max.ms`` is refused with
INVALID_TIMESTAMP (KIP-937). Retention by time uses the records' timestamps. With CreateTime the producers set these, so
a record with a timestamp in the past expires sooner. Existing records do not change.
"""

from collections.abc import Iterable

from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.plan.plan_evidence import PlanEvidence, RequiredEvidence, changed
from topicwarden.plan.setting_effects import EFFECTS, lowered
from topicwarden.plan.topic_change import TopicChange
from topicwarden.plan.wording import goes

AVOIDABLE = False
TYPE = "message.timestamp.type"
LIMITS = tuple(name for name, effect in EFFECTS.items() if effect.consequence == "timestamp-limit")


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence() if changed(change, TYPE) or _stricter(change) else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.before and change.after
    for name in _stricter(change):
        yield Consequence(
            kind="timestamp-limit",
            weight=Severity.DANGER,
            message=f"{goes([name], change.before, change.after)}: records outside this limit are "
            "refused with INVALID_TIMESTAMP",
            place=change.at("config", name),
        )
    if changed(change, TYPE):
        after = change.after.config.get(TYPE)
        expires = after == "CreateTime" and change.after.retention_time is not None
        yield Consequence(
            kind="timestamp-type",
            weight=Severity.DANGER if expires else Severity.NOTE,
            message=f"{TYPE} goes from {change.before.config.get(TYPE)} to {after}: "
            + (
                "new records expire by the producers' clocks; a record with a timestamp in the past expires sooner"
                if expires
                else "new records have other timestamps than producers or consumers may expect"
            ),
            because=["existing records keep their timestamps"],
            place=change.at("config", TYPE),
        )


def _stricter(change: TopicChange) -> list[str]:
    if change.before is None or change.after is None:
        return []
    before, after = change.before.config, change.after.config
    return [name for name in LIMITS if lowered(name, before.get(name), after.get(name))]
