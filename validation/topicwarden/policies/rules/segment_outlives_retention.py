"""Warn if segments stay active for longer than the retention time.

Kafka deletes whole segments, each when its youngest record is older than `retention.ms`
(`UnifiedLog.deleteOldSegments`). A segment that stays active longer keeps its old records for up to `segment.ms` more.
The rule applies if `segment.ms` is declared. It also applies if `contents.records.per_day` is declared, and a segment
does not reach `segment.bytes` within the retention time.

Example: `retention.ms: 1h` with `segment.ms: 1d` keeps records for up to 25 hours.
Remedy: lower `segment.ms`, for example to a tenth of `retention.ms`.
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import (
    cleanup_policies,
    effective_number,
    segment_fills_in_ms,
    setting_text,
    value_text,
)
from topicwarden.policies.rule import AdviceSettings, RuleViolation


class Settings(AdviceSettings):
    pass


ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    retention = topic.number("retention.ms")
    if retention is None or retention < 0 or "delete" not in cleanup_policies(topic):
        return
    segment = effective_number(topic, "segment.ms", brokers)
    fill_ms = segment_fills_in_ms(topic, brokers)
    if segment <= retention or (fill_ms <= retention if fill_ms is not None else "segment.ms" not in topic.config):
        return
    yield RuleViolation(
        ("config", "segment.ms" if "segment.ms" in topic.config else "retention.ms"),
        f"{setting_text(topic, 'segment.ms', brokers)}, above retention.ms of {value_text('retention.ms', retention)}: "
        f"records stay for up to {value_text('segment.ms', segment)} longer than that; lower segment.ms below "
        "retention.ms",
    )
