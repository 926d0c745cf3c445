"""The accepted timestamps, or their type, change: records are refused, or expire at another time.

A record outside ``message.timestamp.before.max.ms`` and ``message.timestamp.after.max.ms`` is refused with
INVALID_TIMESTAMP (KIP-937). Before Kafka 4.0, ``message.timestamp.difference.max.ms`` applies in place of one that is
not limited (``LogConfig.getMessageTimestampBeforeMaxMs``). With LogAppendTime, no limit applies. Retention by time uses
the records' timestamps. With CreateTime the producers set these, so a record with a timestamp in the past expires
sooner. Existing records do not change.
"""

from collections.abc import Iterable, Mapping, Sequence

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.kinds.topic.setting_effects import EFFECTS
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.topic import Topic
from topicwarden.plan.consequence_text import changes_text, duration

AVOIDABLE = False
TYPE = "message.timestamp.type"
DIFFERENCE = "message.timestamp.difference.max.ms"
LIMITS = tuple(name for name, effect in EFFECTS.items() if effect.consequence == "timestamp-limit")
_UNLIMITED = 2**63 - 1


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence() if change.changed(TYPE, *LIMITS) else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.before and change.after
    for name, causes in _narrower(change.before, change.after).items():
        limit = "this limit" if name in causes else f"{name} of {duration(change.after.number(name))}"
        yield Consequence(
            kind="timestamp-limit",
            severity=Severity.DANGER,
            message=f"{changes_text(causes, change.before, change.after)}: records outside {limit} are "
            "refused with INVALID_TIMESTAMP",
            evidence={"setting": name},
            location=change.at("config", causes[0]),
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


def _narrower(before: Topic, after: Topic) -> Mapping[str, Sequence[str]]:
    """Return the limits that apply in ``after`` and are narrower than in ``before``, with the settings that changed."""
    found: dict[str, list[str]] = {}
    for setting in LIMITS:
        name, limit = _limit(after, setting)
        earlier = _limit(before, setting)[1]
        if setting == DIFFERENCE or limit is None or earlier is None or limit >= earlier:
            continue
        settings = (TYPE,) if before.config.get(TYPE) == "LogAppendTime" else (name, setting)
        cause = next(each for each in settings if before.config.get(each) != after.config.get(each))
        found[name] = list(dict.fromkeys([*found.get(name, ()), cause]))
    return found


def _limit(topic: Topic, setting: str) -> tuple[str, int | None]:
    """Return the setting that applies in place of ``setting``, and its value; None if the brokers report neither."""
    if topic.config.get(TYPE) == "LogAppendTime":
        return setting, _UNLIMITED
    name = DIFFERENCE if topic.number(setting) in (None, _UNLIMITED) and DIFFERENCE in topic.config else setting
    return name, topic.number(name)
