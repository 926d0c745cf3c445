"""Require a `min.insync.replicas` that the replicas can meet, also if one broker fails.

Always on: a `min.insync.replicas` above the replication factor is an error. Brokers before Kafka 3.7 refuse every
write with `acks=all` (`NOT_ENOUGH_REPLICAS`, `kafka.cluster.Partition.appendRecordsToLeader`). Later brokers use the
number of replicas instead (`effectiveMinIsr`). A value equal to the replication factor, above 1, is a warning: one
unavailable broker stops writes with `acks=all`.

Example: `min-insync-replicas: {min: 2, below_replication_factor: true}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.field_types import Flag, ReplicationFactor
from topicwarden.model.problem import Level
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import default_note, effective_number, outside, setting_text
from topicwarden.policies.rule import RuleSettings, RuleViolation

SETTING = "min.insync.replicas"


class Settings(RuleSettings):
    min: ReplicationFactor = Field(default=1, description="The minimum value.")
    below_replication_factor: Flag | None = Field(
        default=None,
        description="`true`: a value equal to the replication factor gets the level of the rule; `false`: it is "
        "allowed without a warning.",
    )


ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    path, replicas = ("config", SETTING), topic.replication_factor
    least = effective_number(topic, SETTING, brokers)
    if least > replicas:
        yield RuleViolation(
            path,
            f"{setting_text(topic, SETTING, brokers)}, above the replication factor of {replicas}: brokers before "
            "Kafka 3.7 refuse every write with acks=all, later brokers refuse it if one broker is unavailable; "
            f"lower it to {max(1, replicas - 1)}, or raise the replication factor",
        )
    elif least == replicas > 1 and settings.below_replication_factor is not False:
        yield RuleViolation(
            path,
            f"{setting_text(topic, SETTING, brokers)}, and so is the replication factor: one lost broker stops writes "
            f"with acks=all; lower it to {least - 1}, or raise the replication factor",
            Level.ERROR if settings.below_replication_factor else Level.WARNING,
        )
    for message in outside(SETTING, least, f"{least}{default_note(topic, SETTING, brokers)}", settings.min, None):
        yield RuleViolation(path, message)
