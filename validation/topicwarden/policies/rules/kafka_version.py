"""Require settings and values that the stack's Kafka version supports.

Set the version in `stacks/Pulumi.<stack>.yaml`: `topicwarden:kafkaVersion: "3.9"`; the default is 4.1. A setting that
this version does not have is an error, because the broker refuses the topic (`LogConfig.validateNames`). A value that
only other versions accept is an error too, such as a `segment.bytes` below 1 MiB from 4.1 on (KIP-1030). A deprecated
setting is a warning. The known versions are those in the catalogue, which is generated from Kafka's own jars.
"""

from collections.abc import Iterable
from functools import cache
from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.configs import ConfigDefinition, definition, definitions, kafka_lines, variants
from topicwarden.model.problem import Level
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation

INSTEAD: Final = {
    "message.timestamp.difference.max.ms": (
        "write message.timestamp.before.max.ms and message.timestamp.after.max.ms instead (KIP-937)"
    ),
    "message.format.version": "delete it: record batches always have the format of Kafka 0.11 (KIP-724)",
    "message.downconversion.enable": "delete it: Kafka no longer supports clients older than 0.11 (KIP-724)",
}

Settings = RuleSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    for name in topic.config.keys() & _version_dependent():
        supported = definition(name, brokers.kafka)
        path = ("config", name)
        if supported is None:
            yield RuleViolation(path, f"{_unsupported(name, brokers.kafka)}; {INSTEAD.get(name, 'delete it')}")
        elif problem := supported.problem(topic.config[name]):
            yield RuleViolation(path, f"{name}, on Kafka {brokers.kafka}: {problem}")
        elif supported.deprecated:
            removal = _removal(supported)
            yield RuleViolation(path, f"{name} is deprecated{removal}; {INSTEAD.get(name, 'delete it')}", Level.WARNING)


@cache
def _version_dependent() -> frozenset[str]:
    """Return the settings that some Kafka versions lack, or whose allowed values depend on the version."""
    lines = kafka_lines()
    return frozenset(
        each.name
        for each in definitions().values()
        if each.deprecated or each.since != lines[0] or each.until != lines[-1] or len(variants(each.name)) > 1
    )


def _unsupported(name: str, kafka: str) -> str:
    known = definitions()[name]
    if kafka_lines().index(kafka) < kafka_lines().index(known.since):
        return f"{name} needs Kafka {known.since} or later, and this stack runs {kafka}"
    return f"{name} needs Kafka {known.until} or earlier, and this stack runs {kafka}"


def _removal(deprecated: ConfigDefinition) -> str:
    later = kafka_lines()[kafka_lines().index(deprecated.until) + 1 :]
    return f", and removed in Kafka {later[0]}" if later else ""
