"""Acknowledged writes survive, and writing does not stop at the first lost broker.

Always on: ``min.insync.replicas`` above the replication factor, with which every write with ``acks=all`` is
refused (``NOT_ENOUGH_REPLICAS``). Settings: ``min``; ``below_replication_factor: true`` asks for one replica
to spare, so that writing goes on while a broker is away.
Example: ``min-insync-replicas: {min: 2, below_replication_factor: true}``
"""

from collections.abc import Iterable

from topicwarden.policies.rule import Complaint, RuleSettings
from topicwarden.specs.model import Flag, ReplicationFactor
from topicwarden.topic import Topic

SETTING = "min.insync.replicas"
_KAFKA_DEFAULT = 1


class Settings(RuleSettings):
    min: ReplicationFactor = 1
    below_replication_factor: Flag = False


ALWAYS = Settings()


def judge(topic: Topic, settings: Settings) -> Iterable[Complaint]:
    path, replicas = ("config", SETTING), topic.replication_factor
    least = topic.number(SETTING) or _KAFKA_DEFAULT
    if least > replicas:
        yield Complaint(
            path,
            f"{SETTING} is {least}, above the replication factor of {replicas}: every write with acks=all "
            f"would be refused; lower it to {max(1, replicas - 1)}, or raise the replication factor",
        )
    elif settings.below_replication_factor and least == replicas > 1:
        yield Complaint(
            path,
            f"{SETTING} is {least}, and so is the replication factor: one lost broker stops writes with acks=all; "
            f"lower it to {least - 1}, or raise the replication factor",
        )
    if least < settings.min:
        yield Complaint(path, f"{SETTING}: expected at least {settings.min}, seen {least}")
