"""What only deletion heeds is not set on a topic that only compacts.

`retention.ms`, `retention.bytes` and the `local.retention` pair have no say over a topic whose `cleanup.policy` lacks
`delete` (`UnifiedLog.deleteOldSegments`): records are kept until a later one of their key supersedes them. Whoever
counts on the data being gone after that time, by law perhaps, is mistaken. `-1`, which sets no bound, is not warned of.

Remedy: delete the setting, or say `cleanup.policy: [compact, delete]`.
"""

from collections.abc import Iterable

from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup
from topicwarden.policies.rule import AdviceSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings

SETTINGS = ("retention.ms", "retention.bytes", "local.retention.ms", "local.retention.bytes")


class Settings(AdviceSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if cleanup(topic) != {"compact"}:
        return
    for name in SETTINGS:
        value = topic.number(name)
        if value is not None and value >= 0:
            yield RuleViolation(
                ("config", name),
                f"{name} has no effect, as cleanup.policy is compact: records stay until a later one has their key; "
                "delete it, or write cleanup.policy: [compact, delete]",
            )
