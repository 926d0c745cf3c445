"""Reject settings that the stack's managed Kafka service refuses or ignores.

`topicwarden:profile` in `stacks/Pulumi.<stack>.yaml` names the service; by default, the host names of the bootstrap
servers tell. docs/services.md lists the settings, bounds and replication factors of each service, with the vendor's
page that says so. A value that the service ignores is an error, too: the topic would never be as declared.

Example: `segment.bytes: 1GiB` on `msk-serverless`.
Remedy: unset the value for the stack: `stacks: {prod: {config: {segment.bytes: null}}}`.
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.kafka_facts.services.profile import Outcome, ServiceProfile, SettingBounds
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import value_text
from topicwarden.policies.rule import RuleSettings, RuleViolation

Settings = RuleSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    service = PROFILES[brokers.profile]
    for name, value in topic.config.items():
        path = ("config", name)
        for named in service.unsupported_settings(name):
            message = f"{name}: {service.title} {named.outcome} this setting; write null for this stack"
            yield RuleViolation(path, _with_source(message, named.source))
        for bounds in service.bounds:
            if bounds.setting == name and not bounds.accepts(value):
                seen = value_text(name, int(value)) if not bounds.choices else value
                message = f"{name}: {service.title} accepts {accepted_text(bounds)}, got {seen}"
                yield RuleViolation(path, _with_source(message, bounds.source))
    yield from _replication(topic, service)


def _replication(topic: Topic, service: ServiceProfile) -> Iterable[RuleViolation]:
    replication = service.replication
    if replication is None or topic.replication_factor in replication.allowed:
        return
    expected = replication.text or ", ".join(map(str, sorted(replication.allowed)))
    seen = f"{service.title}, got {topic.replication_factor}"
    effect = "refuses the topic" if replication.outcome is Outcome.REFUSES else "uses its own number"
    message = f"replication_factor: expected {expected} on {seen}: the service {effect}"
    yield RuleViolation(("replication_factor",), _with_source(message, replication.source))


def accepted_text(bounds: SettingBounds) -> str:
    """Return the values that the service accepts, in a few words: ``at least 1 and at most 2``."""
    if bounds.choices:
        return f"one of {', '.join(bounds.choices)}"
    ends = (("at least", bounds.least), ("at most", bounds.most))
    return " and ".join(f"{word} {value_text(bounds.setting, end)}" for word, end in ends if end is not None)


def _with_source(message: str, source: str) -> str:
    return f"{message} ({source})"
