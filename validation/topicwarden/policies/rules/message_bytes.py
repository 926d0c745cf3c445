"""Warn about record sizes that exceed a limit of the topic, its segments, or the brokers.

- `max.message.bytes` limits a record batch as it arrives, compressed (`UnifiedLog`, `RECORD_TOO_LARGE`).
- `message.max.bytes` of the brokers: a topic may be above it, but producers, consumers and replicas are usually
  configured for it. The rule compares the two if `stacks/Pulumi.<stack>.yaml` has
  `topicwarden:brokerMessageMaxBytes: 1MiB`.
- `segment.bytes` (`RECORD_LIST_TOO_LARGE`) and `socket.request.max.bytes` of the brokers, by default 100 MiB: a larger
  batch cannot be written.
- A record of the size `contents.records.max_bytes` must fit into `max.message.bytes` even if it does not compress.
"""

from collections.abc import Iterable
from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import effective_number, setting_text, value_text
from topicwarden.policies.rule import AdviceSettings, RuleViolation

SETTING: Final = "max.message.bytes"
REQUEST_BYTES: Final = 104_857_600


class Settings(AdviceSettings):
    pass


ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    record, declared = topic.contents.records.max_bytes, topic.number(SETTING)
    if record is None and declared is None and "segment.bytes" not in topic.config:
        return
    largest = effective_number(topic, SETTING, brokers)
    if record is not None and record > largest:
        yield RuleViolation(
            ("contents", "records", "max_bytes"),
            f"a record may have {value_text(SETTING, record)}, and {setting_text(topic, SETTING, brokers)}: the broker "
            f"refuses the record unless it compresses; raise {SETTING}, or lower max_bytes",
        )
    if declared is None:
        return
    path, seen = ("config", SETTING), setting_text(topic, SETTING, brokers)
    if brokers.message_max_bytes is not None and declared > brokers.message_max_bytes:
        yield RuleViolation(
            path,
            f"{seen}, above the brokers' message.max.bytes of {value_text(SETTING, brokers.message_max_bytes)}: "
            "clients that are configured for the brokers' limit cannot write or read such records; lower it, or raise "
            "both, and max.request.size of the producers",
        )
    if declared > REQUEST_BYTES:
        yield RuleViolation(
            path, f"{seen}, above socket.request.max.bytes, 100MiB: brokers refuse such a request; lower it"
        )
    if declared > effective_number(topic, "segment.bytes", brokers):
        yield RuleViolation(
            path,
            f"{seen}, and {setting_text(topic, 'segment.bytes', brokers)}: such a batch does not fit into a segment; "
            "lower it",
        )
