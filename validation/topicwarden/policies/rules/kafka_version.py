"""The stack's Kafka has the settings that are declared, and takes their values.

Which Kafka that is, `stacks/Pulumi.<stack>.yaml` says: `topicwarden:kafkaVersion: "3.9"`; without it, 4.1. A setting
that this version has no more, or not yet, is an error, as the broker refuses the topic (`LogConfig.validateNames`);
so is a value that only other versions take, such as a `segment.bytes` below 1 MiB from 4.1 on (KIP-1030). A setting
that Kafka calls deprecated is a warning. The versions are those of the catalogue, made from Kafka's own jars.
"""

from collections.abc import Iterable
from functools import cache
from typing import Final

from topicwarden.model.problem import Level
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings
from topicwarden.specs.configs import ConfigDefinition, definition, definitions, kafka_lines, variants

INSTEAD: Final = {
    "message.timestamp.difference.max.ms": (
        "write message.timestamp.before.max.ms and message.timestamp.after.max.ms instead (KIP-937)"
    ),
    "message.format.version": "delete it: record batches have the format of Kafka 0.11 since (KIP-724)",
    "message.downconversion.enable": "delete it: clients older than Kafka 0.11 are no longer served (KIP-724)",
}


class Settings(RuleSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    for name in topic.config.keys() & _changing():
        held = definition(name, brokers.kafka)
        path = ("config", name)
        if held is None:
            yield RuleViolation(path, f"{_absent(name, brokers.kafka)}; {INSTEAD.get(name, 'delete it')}")
        elif problem := held.problem(topic.config[name]):
            yield RuleViolation(path, f"{name}, on Kafka {brokers.kafka}: {problem}")
        elif held.deprecated:
            gone = _gone(held)
            yield RuleViolation(path, f"{name} is deprecated{gone}; {INSTEAD.get(name, 'delete it')}", Level.WARNING)


@cache
def _changing() -> frozenset[str]:
    """The settings that not every version of Kafka has and takes alike."""
    lines = kafka_lines()
    return frozenset(
        each.name
        for each in definitions().values()
        if each.deprecated or each.since != lines[0] or each.until != lines[-1] or len(variants(each.name)) > 1
    )


def _absent(name: str, kafka: str) -> str:
    known = definitions()[name]
    if kafka_lines().index(kafka) < kafka_lines().index(known.since):
        return f"{name} came with Kafka {known.since}, and this stack runs {kafka}"
    return f"{name} is of Kafka {known.until} and before, and this stack runs {kafka}"


def _gone(held: ConfigDefinition) -> str:
    later = kafka_lines()[kafka_lines().index(held.until) + 1 :]
    return f", and gone in Kafka {later[0]}" if later else ""
