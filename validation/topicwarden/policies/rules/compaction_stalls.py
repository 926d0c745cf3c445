"""What is to be compacted gets compacted.

The cleaner never touches the open segment (`LogCleanerManager.cleanableOffsets`). Where `contents.records.per_day`
tells that a segment is not full before Kafka's default `segment.ms` of seven days, and neither `segment.ms` nor
`max.compaction.lag.ms` is declared, superseded records, and those that tombstones were to delete, live on for a week
at least; and with one segment's worth in all, for as long as nobody writes.

Remedy: declare `segment.ms`, as one day, or `max.compaction.lag.ms`, which closes segments too (KIP-354).
"""

from collections.abc import Iterable

from topicwarden.model.topic import Topic
from topicwarden.policies.declared_traffic import segment_fills_in_ms
from topicwarden.policies.effective_values import number, spelled
from topicwarden.policies.rule import AdviceSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings


class Settings(AdviceSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    fills = segment_fills_in_ms(topic, brokers)
    if fills is None or not topic.compacted or topic.config.keys() & {"segment.ms", "max.compaction.lag.ms"}:
        return
    default = number(topic, "segment.ms", brokers)
    if fills > default:
        yield RuleViolation(
            ("contents", "records", "per_day"),
            f"{topic.contents.records_per_day} records a day do not fill a segment before Kafka's default segment.ms "
            f"of {spelled('segment.ms', default)}, and what is not closed is not compacted; declare segment.ms, as 1d",
        )
