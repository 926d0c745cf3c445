"""The clock that the records are declared to tell is the one that the topic gives them.

`contents.timestamps.type` says what readers count on; `message.timestamp.type`, by default `CreateTime`, says what the
broker does: with `LogAppendTime` it overwrites the producer's time, and heeds no `message.timestamp.before.max.ms` and
`message.timestamp.after.max.ms` (KIP-32, `LogValidator`).
"""

from collections.abc import Iterable

from topicwarden.model.topic import Topic
from topicwarden.policies.rule import AdviceSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings

SETTING = "message.timestamp.type"
_BOUNDS = (
    "message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms",
    "message.timestamp.difference.max.ms",
)


class Settings(AdviceSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    declared, held = topic.contents.timestamp_type, topic.config.get(SETTING, "CreateTime")
    if declared is not None and declared != held:
        default = "" if SETTING in topic.config else ", Kafka's default"
        yield RuleViolation(
            ("contents", "timestamps", "type"),
            f"the records are to tell {declared}, and {SETTING} is {held}{default}; make them one",
        )
    if held == "LogAppendTime":
        for name in _BOUNDS:
            if name in topic.config:
                yield RuleViolation(("config", name), f"{name} has no effect, as {SETTING} is LogAppendTime; delete it")
