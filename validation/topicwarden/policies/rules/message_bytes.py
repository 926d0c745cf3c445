"""Warn about record sizes that exceed a limit of the topic, its segments, or the brokers.

- `max.message.bytes` limits a record batch as it arrives, compressed (`UnifiedLog`, `RECORD_TOO_LARGE`).
- `message.max.bytes` of the brokers: a topic may be above it, but producers are usually configured for it. Consumers
  and replicas get the first batch of a fetch whatever its size (KIP-74). The rule compares the two if
  `stacks/Pulumi.<stack>.yaml` has `topicwarden:brokerMessageMaxBytes: 1MiB`.
- `segment.bytes` (`RECORD_LIST_TOO_LARGE`) and `socket.request.max.bytes` of the brokers, by default 100 MiB: a larger
  batch cannot be written.
- A record of the size `contents.records.max_bytes` must fit into `max.message.bytes` and `segment.bytes` even if it
  does not compress. A batch has a header of 61 bytes (`DefaultRecordBatch`), and a record at least 7 bytes beside its
  key and value (`DefaultRecord`).
"""

from collections.abc import Iterable
from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import effective_number, setting_text, value_text
from topicwarden.policies.rule import AdviceSettings, RuleViolation

SETTING, SEGMENT = "max.message.bytes", "segment.bytes"
REQUEST_BYTES: Final = 104_857_600
_LEAST_OVERHEAD: Final = 61 + 7
_ABOVE_1_MIB: Final = 12
"""How much Kafka's default of ``max.message.bytes`` is above 1 MiB, which many topics have as ``segment.bytes``."""

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    record, declared = topic.contents.records.max_bytes, topic.number(SETTING)
    for name in (SETTING, SEGMENT):
        if record is not None and record + _LEAST_OVERHEAD > effective_number(topic, name, brokers):
            yield RuleViolation(
                ("contents", "records", "max_bytes"),
                f"a record may have {value_text(SETTING, record)}, its batch has at least {_LEAST_OVERHEAD} bytes "
                f"more, and {setting_text(topic, name, brokers)}: the broker refuses the record unless it compresses; "
                f"raise {name}, or lower max_bytes",
            )
    seen, segment = setting_text(topic, SETTING, brokers), setting_text(topic, SEGMENT, brokers)
    excess = effective_number(topic, SETTING, brokers) - effective_number(topic, SEGMENT, brokers)
    if declared is None:
        if excess > _ABOVE_1_MIB and SEGMENT in topic.config:
            yield RuleViolation(
                ("config", SEGMENT),
                f"{segment}, and {seen}: the broker refuses a batch that does not fit into a segment; raise "
                f"{SEGMENT}, or lower {SETTING}",
            )
        return
    path = ("config", SETTING)
    if brokers.message_max_bytes is not None and declared > brokers.message_max_bytes:
        yield RuleViolation(
            path,
            f"{seen}, above the brokers' message.max.bytes of {value_text(SETTING, brokers.message_max_bytes)}: "
            "producers that are configured for the brokers' limit cannot write such records; lower it, or raise "
            "max.request.size of the producers",
        )
    if declared > REQUEST_BYTES:
        yield RuleViolation(
            path, f"{seen}, above socket.request.max.bytes, 100MiB: brokers refuse such a request; lower it"
        )
    if excess > 0:
        yield RuleViolation(path, f"{seen}, and {segment}: such a batch does not fit into a segment; lower it")
