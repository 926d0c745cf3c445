"""What may be written fits: into the topic, its segments, the brokers and their requests.

`max.message.bytes` bounds a batch as it arrives, compressed (`UnifiedLog`, `RECORD_TOO_LARGE`). A topic may set it
above the brokers' `message.max.bytes`, but producers, consumers and replicas are mostly set up for the latter; it is
compared where the stack says it: `topicwarden:brokerMessageMaxBytes: 1MiB` in `stacks/Pulumi.<stack>.yaml`. Nothing
fits that is above `segment.bytes` (`RECORD_LIST_TOO_LARGE`) or above a request of `socket.request.max.bytes`, 100 MiB
by default. And a record of `contents.records.max_bytes`, where it does not compress, must fit into `max.message.bytes`.
"""

from collections.abc import Iterable
from typing import Final

from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import number, said, spelled
from topicwarden.policies.rule import AdviceSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings

SETTING: Final = "max.message.bytes"
REQUEST_BYTES: Final = 104_857_600


class Settings(AdviceSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    record, declared = topic.contents.record_max_bytes, topic.number(SETTING)
    if record is None and declared is None and "segment.bytes" not in topic.config:
        return
    largest = number(topic, SETTING, brokers)
    if record is not None and record > largest:
        yield RuleViolation(
            ("contents", "records", "max_bytes"),
            f"a record may have {spelled(SETTING, record)}, and {said(topic, SETTING, brokers)}: unless it "
            "compresses, the broker refuses it; raise the setting, or lower max_bytes",
        )
    if declared is None:
        return
    path, seen = ("config", SETTING), said(topic, SETTING, brokers)
    if brokers.message_max_bytes is not None and declared > brokers.message_max_bytes:
        yield RuleViolation(
            path,
            f"{seen}, above the brokers' message.max.bytes of {spelled(SETTING, brokers.message_max_bytes)}: clients "
            "set up for those cannot write or read it; lower it, or raise both, with max.request.size of the producers",
        )
    if declared > REQUEST_BYTES:
        yield RuleViolation(path, f"{seen}, above socket.request.max.bytes, 100MiB: no such request is taken; lower it")
    if declared > number(topic, "segment.bytes", brokers):
        yield RuleViolation(
            path, f"{seen}, and {said(topic, 'segment.bytes', brokers)}: no segment holds such a batch; lower it"
        )
