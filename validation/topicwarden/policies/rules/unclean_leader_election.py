"""Warn about unclean leader election, which can lose acknowledged records.

With `unclean.leader.election.enable: true`, an out-of-sync replica can become the leader if no in-sync replica is
available. The records that it lacks are lost, although the brokers have acknowledged them to producers
(`PartitionChangeBuilder`, KIP-106). Kafka does not report the loss to clients.

Remedy: delete the setting; Kafka's default is `false`.
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import AdviceSettings, RuleViolation

SETTING = "unclean.leader.election.enable"

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if topic.config.get(SETTING) == "true":
        yield RuleViolation(
            ("config", SETTING),
            f"{SETTING} is true: a replica that lacks acknowledged records can become the leader, and these records "
            "are lost; delete it, or waive this rule if availability matters more than records",
        )
