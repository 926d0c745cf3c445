"""Acknowledged records are not given up for availability.

With `unclean.leader.election.enable: true`, a replica that is not in sync may become the leader when no other one is
left. Records that it lacks are lost, although producers have been told that they are written
(`PartitionChangeBuilder`, KIP-106). Nobody is told of the loss.

Remedy: delete the setting; Kafka's default is `false`.
"""

from collections.abc import Iterable

from topicwarden.model.topic import Topic
from topicwarden.policies.rule import AdviceSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings

SETTING = "unclean.leader.election.enable"


class Settings(AdviceSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if topic.config.get(SETTING) == "true":
        yield RuleViolation(
            ("config", SETTING),
            f"{SETTING} is true: a replica that lacks acknowledged records may become the leader, and they are lost; "
            "delete it, or waive this rule where availability is worth more than records",
        )
