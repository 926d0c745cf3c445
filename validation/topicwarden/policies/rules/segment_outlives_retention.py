"""Warn if segments stay active for longer than the retention time.

Kafka deletes whole segments, each when its youngest record is older than `retention.ms`
(`UnifiedLog.deleteOldSegments`). A segment that stays active longer keeps its old records for up to `segment.ms` more,
or `max.compaction.lag.ms` if the topic is also compacted and this is less (`LogConfig.maxSegmentMs`).
The rule applies if `segment.ms` is declared. It also applies if `contents.records.per_day` is declared, and a segment
does not reach `segment.bytes` within the retention time.

Example: `retention.ms: 1h` with `segment.ms: 1d` keeps records for up to 25 hours.
Remedy: lower `segment.ms`, for example to a tenth of `retention.ms`.
"""

from collections.abc import Iterable
from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import (
    cleanup_policies,
    default_note,
    effective_number,
    segment_fills_in_ms,
    setting_text,
    value_text,
)
from topicwarden.policies.rule import AdviceSettings, RuleViolation

RETENTION: Final = "retention.ms"

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    retention = effective_number(topic, RETENTION, brokers)
    if retention < 0 or "delete" not in cleanup_policies(topic):
        return
    names = ("segment.ms", "max.compaction.lag.ms") if "compact" in cleanup_policies(topic) else ("segment.ms",)
    name = min(names, key=lambda each: effective_number(topic, each, brokers))
    segment = effective_number(topic, name, brokers)
    fill_ms = segment_fills_in_ms(topic, brokers)
    if segment <= retention or (fill_ms <= retention if fill_ms is not None else "segment.ms" not in topic.config):
        return
    yield RuleViolation(
        ("config", name if name in topic.config else RETENTION),
        f"{setting_text(topic, name, brokers)}, above {RETENTION} of {value_text(RETENTION, retention)}"
        f"{default_note(topic, RETENTION, brokers)}: records stay for up to {value_text(name, segment)} longer than "
        f"that; lower segment.ms below {RETENTION}",
    )
