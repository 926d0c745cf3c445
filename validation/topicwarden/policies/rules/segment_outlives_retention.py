"""Segments close in time for retention to be kept.

Kafka deletes whole segments, each when its youngest record is past `retention.ms` (`UnifiedLog.deleteOldSegments`). A
segment that stays open for longer than that keeps its old records for up to `segment.ms` more. Judged where
`segment.ms` is declared, and where `contents.records.per_day` is, and tells that Kafka's default of seven days passes
before `segment.bytes` are full.

Example: `retention.ms: 1h` with `segment.ms: 1d` keeps records for up to 25 hours.
Remedy: lower `segment.ms`, as to a tenth of `retention.ms`.
"""

from collections.abc import Iterable

from topicwarden.model.topic import Topic
from topicwarden.policies.declared_traffic import segment_fills_in_ms
from topicwarden.policies.effective_values import cleanup, number, said, spelled
from topicwarden.policies.rule import AdviceSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings


class Settings(AdviceSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    retention = topic.number("retention.ms")
    if retention is None or retention < 0 or "delete" not in cleanup(topic):
        return
    segment = number(topic, "segment.ms", brokers)
    fills = segment_fills_in_ms(topic, brokers)
    if segment <= retention or (fills <= retention if fills is not None else "segment.ms" not in topic.config):
        return
    yield RuleViolation(
        ("config", "segment.ms" if "segment.ms" in topic.config else "retention.ms"),
        f"{said(topic, 'segment.ms', brokers)}, above retention.ms of {spelled('retention.ms', retention)}: records "
        f"stay for up to {spelled('segment.ms', segment)} longer than that; lower segment.ms below retention.ms",
    )
