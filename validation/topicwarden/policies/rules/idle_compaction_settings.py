"""What only log compaction heeds is not set on a topic that is not compacted.

`delete.retention.ms`, `min.compaction.lag.ms`, `max.compaction.lag.ms` and `min.cleanable.dirty.ratio` are read by the
log cleaner alone, which passes over topics without `compact` in their `cleanup.policy` (`LogCleanerManager`). Kafka
takes them, and nothing comes of it: either they, or the policy, are not what was meant.

Remedy: delete the setting, or add `compact` to `cleanup.policy`.
"""

from collections.abc import Iterable

from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup
from topicwarden.policies.rule import AdviceSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings

SETTINGS = ("delete.retention.ms", "min.compaction.lag.ms", "max.compaction.lag.ms", "min.cleanable.dirty.ratio")


class Settings(AdviceSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if "compact" in cleanup(topic):
        return
    for name in SETTINGS:
        if name in topic.config:
            seen = topic.config.get("cleanup.policy", "delete, Kafka's default") or "empty"
            yield RuleViolation(
                ("config", name),
                f"{name} has no effect, as cleanup.policy is {seen}; delete it, or add compact to cleanup.policy",
            )
