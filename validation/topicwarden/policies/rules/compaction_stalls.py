"""Warn if segments of a compacted topic roll too rarely for timely compaction.

The log cleaner never cleans the active segment (`LogCleanerManager.cleanableOffsets`). The rule warns if a segment
does not fill within the default `segment.ms`, seven days in Kafka, and the topic declares neither `segment.ms` nor
`max.compaction.lag.ms`. The fill time follows from `contents.records.per_day`. Superseded records, and records deleted
by a tombstone, then stay for at least a week. If all data fits into one segment, they stay until the next write.

Remedy: declare `segment.ms`, for example one day, or `max.compaction.lag.ms`, which also rolls segments (KIP-354).
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.model.units import LONG_MAX
from topicwarden.policies.effective_values import cleanup_policies, effective_number, segment_fills_in_ms, value_text
from topicwarden.policies.rule import AdviceSettings, RuleViolation

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    fill_ms = segment_fills_in_ms(topic, brokers)
    rolls_in_time = "segment.ms" in topic.config or effective_number(topic, "max.compaction.lag.ms", brokers) < LONG_MAX
    if fill_ms is None or "compact" not in cleanup_policies(topic) or rolls_in_time:
        return
    default = effective_number(topic, "segment.ms", brokers)
    if fill_ms > default:
        yield RuleViolation(
            ("contents", "records", "per_day"),
            f"{topic.contents.records.per_day} records a day do not fill a segment within "
            f"{brokers.default_source('segment.ms')} segment.ms of {value_text('segment.ms', default)}, and the active "
            "segment is never compacted; declare segment.ms, for example 1d",
        )
