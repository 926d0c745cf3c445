"""No duration and no size is as small as one whose unit was forgotten.

`retention.ms: 7` is seven milliseconds: Kafka deletes records almost as soon as they are written, and takes the value
without a word. So it is with `0`, and with sizes in bytes that no record fits into. Judged are declared values:
`retention.ms` and `local.retention.ms` below a minute, `segment.ms` and `max.compaction.lag.ms` below 100 milliseconds,
`retention.bytes` and `local.retention.bytes` below a KiB, `max.message.bytes` below 128 bytes.

Example: `retention.ms: 7`, where seven days are meant.
Remedy: write the unit: `7d`.
"""

from collections.abc import Iterable
from typing import Final

from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup, spelled
from topicwarden.policies.rule import AdviceSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings
from topicwarden.specs.units import DURATION, unit_of

_DELETED: Final = "records are deleted as soon as their segment is closed"
_LEAST: Final = {
    "retention.ms": (60_000, _DELETED),
    "local.retention.ms": (60_000, "closed segments are deleted from the brokers' disks at once"),
    "retention.bytes": (1024, _DELETED),
    "local.retention.bytes": (1024, "closed segments are deleted from the brokers' disks at once"),
    "segment.ms": (100, "almost every batch of records gets a segment of its own, which is three files or more"),
    "max.compaction.lag.ms": (100, "the log is due for compaction all the time"),
    "max.message.bytes": (128, "the broker refuses almost every batch of records"),
}


class Settings(AdviceSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    for name, (least, effect) in _LEAST.items():
        value = topic.number(name)
        if value is None or not 0 <= value < least or ("retention" in name and "delete" not in cleanup(topic)):
            continue
        units = "7d or 36h" if unit_of(name) is DURATION else "10GiB or 1MiB"
        yield RuleViolation(
            ("config", name),
            f"{name} is {_shown(name, value)}: {effect}; if another unit is meant, write it, such as {units}",
        )


def _shown(name: str, value: int) -> str:
    if unit_of(name) is DURATION:
        return spelled(name, value) if value else "0 milliseconds"
    return f"{value} byte{'' if value == 1 else 's'}"
