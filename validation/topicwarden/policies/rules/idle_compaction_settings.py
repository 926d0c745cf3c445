"""What only log compaction heeds is not set on a topic that is not compacted.

`delete.retention.ms`, `min.compaction.lag.ms`, `max.compaction.lag.ms` and `min.cleanable.dirty.ratio` are read by the
log cleaner alone, which passes over topics without `compact` in their `cleanup.policy` (`LogCleanerManager`). Kafka
takes them, and nothing comes of it: either they, or the policy, are not what was meant.

Remedy: delete the setting, or add `compact` to `cleanup.policy`.
"""

from collections.abc import Iterable

from topicwarden.policies.effective import cleanup
from topicwarden.policies.rule import Advice, Complaint
from topicwarden.specs.brokers import Brokers
from topicwarden.topic import Topic

SETTINGS = ("delete.retention.ms", "min.compaction.lag.ms", "max.compaction.lag.ms", "min.cleanable.dirty.ratio")


class Settings(Advice):
    pass


ALWAYS = Settings()


def judge(topic: Topic, settings: Settings, brokers: Brokers) -> Iterable[Complaint]:
    if "compact" in cleanup(topic):
        return
    for name in SETTINGS:
        if name in topic.config:
            seen = topic.config.get("cleanup.policy", "delete, Kafka's default") or "empty"
            yield Complaint(
                ("config", name),
                f"{name} has no effect, as cleanup.policy is {seen}; delete it, or add compact to cleanup.policy",
            )
