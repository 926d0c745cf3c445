"""Acknowledged writes survive, and writing does not stop at the first lost broker.

Always on: `min.insync.replicas` above the replication factor cannot be met, an error: brokers before Kafka 3.7 refuse
every write with `acks=all` (`NOT_ENOUGH_REPLICAS`, `kafka.cluster.Partition.appendRecordsToLeader`), later ones take it
for the number of replicas (`effectiveMinIsr`). Equal to it, above one, the first broker that is away stops such writes,
a warning.

Example: `min-insync-replicas: {min: 2, below_replication_factor: true}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.model.problem import Level
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import number
from topicwarden.policies.rule import RuleSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings
from topicwarden.specs.document_model import Flag, ReplicationFactor

SETTING = "min.insync.replicas"


class Settings(RuleSettings):
    min: ReplicationFactor = Field(default=1, description="The least it may be.")
    below_replication_factor: Flag | None = Field(
        default=None,
        description="`true`: one replica to spare is asked for at the rule's level; `false`: not even a warning.",
    )


ALWAYS = Settings()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    path, replicas = ("config", SETTING), topic.replication_factor
    least = number(topic, SETTING, brokers)
    if least > replicas:
        yield RuleViolation(
            path,
            f"{SETTING} is {least}, above the replication factor of {replicas}: brokers before Kafka 3.7 refuse every "
            "write with acks=all, later ones as soon as a broker is away; "
            f"lower it to {max(1, replicas - 1)}, or raise the replication factor",
        )
    elif least == replicas > 1 and settings.below_replication_factor is not False:
        yield RuleViolation(
            path,
            f"{SETTING} is {least}, and so is the replication factor: one lost broker stops writes with acks=all; "
            f"lower it to {least - 1}, or raise the replication factor",
            Level.ERROR if settings.below_replication_factor else Level.WARNING,
        )
    if least < settings.min:
        yield RuleViolation(path, f"{SETTING}: expected at least {settings.min}, seen {least}")
