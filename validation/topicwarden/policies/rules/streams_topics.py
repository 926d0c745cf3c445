"""Recommend settings that keep the data of Kafka Streams' internal topics.

A `-changelog` topic stores the state of a state store. It must be compacted
(`UnwindowedUnchangedChangelogTopicConfig`), for a windowed store with `compact,delete`
(`WindowedChangelogTopicConfig`). With `delete` alone, a restore loses state. A `-repartition` topic is a queue. Kafka
Streams itself deletes its records after processing (`RepartitionTopicConfig`). It must not be compacted, and
`retention.ms` and `retention.bytes` must be -1. Otherwise records that wait too long are lost. The rule recognizes the
topics by name, `<application>-<store>-changelog`, and a topic of another owner may have such a name: so it only warns.
"""

import re
from collections.abc import Iterable
from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.model.units import LONG_MAX
from topicwarden.policies.effective_values import cleanup_policies, effective_number, setting_text
from topicwarden.policies.rule import AdviceSettings, RuleViolation

_NAME: Final = re.compile(r".+-.+-(changelog|repartition)")

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    match, path = _NAME.fullmatch(topic.name), ("config", "cleanup.policy")
    if not match:
        return
    if match[1] == "changelog" and "compact" not in cleanup_policies(topic):
        yield RuleViolation(
            path,
            f"{topic.name} has the name of a changelog topic of Kafka Streams, and is not compacted: when Kafka "
            "deletes old records, their state is lost; write cleanup.policy: compact, or [compact, delete] for a "
            "windowed store",
        )
    elif match[1] == "repartition":
        if cleanup_policies(topic) != {"delete"}:
            yield RuleViolation(
                path,
                f"{topic.name} has the name of a repartition topic of Kafka Streams, and this cleanup.policy can "
                "remove records that are not processed yet; write cleanup.policy: delete",
            )
            return
        for name, waiting in (
            ("retention.ms", "records that wait longer"),
            ("retention.bytes", "older records above it"),
        ):
            if 0 <= effective_number(topic, name, brokers) < LONG_MAX:
                yield RuleViolation(
                    ("config", name),
                    f"{topic.name} has the name of a repartition topic of Kafka Streams, and "
                    f"{setting_text(topic, name, brokers)}: {waiting} are lost; write {name}: -1, because Kafka "
                    "Streams deletes them itself",
                )
