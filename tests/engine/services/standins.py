"""The answers of each service that differ from those of Apache Kafka, for the stand-in ``service_gate``."""

from __future__ import annotations

from tests.support.service_gate import DEFAULT, ON_TOPIC, Entries, Service, entry
from topicwarden.kafka_facts.configs import definition
from topicwarden.kafka_facts.services import PROFILES

ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS, LIST_OFFSETS = 33, 44, 2
_KAFKA_REQUESTS = frozenset(range(100))
_OF_WARPSTREAM = frozenset(
    {*range(4), *range(8, 21), 22, *range(24, 27), *range(28, 34), 36, 37, 42, 47, 60, 65, 66},
)
"""The requests in WarpStream's list of supported messages, and those of SASL."""
_IGNORED_BY_REDPANDA = PROFILES["redpanda"].unsupported[0].names


def redpanda(settings: Entries) -> Entries:
    """Report a setting that has Kafka's default as not set, and settings of Redpanda's own; leave out ignored ones."""
    known = [each for each in settings if each.name not in _IGNORED_BY_REDPANDA]
    for each in known:
        setting = definition(each.name)
        if setting and each.value == setting.default:
            each.config_source = DEFAULT
    return [*known, entry("redpanda.remote.read", "true", ON_TOPIC), entry("write.caching", "true", ON_TOPIC)]


def confluent_cloud(settings: Entries) -> Entries:
    """Report every setting as set on the topic, with the service's own defaults, and one of Confluent's own."""
    defaults = PROFILES["confluent-cloud"].defaults
    assert defaults
    for each in settings:
        if each.config_source != ON_TOPIC:
            each.value = defaults.values.get(each.name, _default(each.name, each.value))
            each.config_source = ON_TOPIC
    return [*settings, entry("confluent.value.schema.validation", "false", ON_TOPIC)]


def _default(name: str, value: str) -> str:
    setting = definition(name)
    return setting.default if setting and setting.default is not None else value


SERVICES = {
    "apache": Service(),
    "msk": Service(),
    "msk-express": Service(),
    "msk-serverless": Service(hides_brokers=True),
    "confluent-cloud": Service("lkc-abc123", topic_settings=confluent_cloud, hides_brokers=True),
    "redpanda": Service("redpanda.2bd3a7a0-0000-4000-8000-8b9a5a2c3d4e", topic_settings=redpanda),
    "aiven": Service(),
    "warpstream": Service(lacks=_KAFKA_REQUESTS - _OF_WARPSTREAM),
    "event-hubs": Service(lacks=frozenset({35, 45, 46}), latest={LIST_OFFSETS: 6}, hides_brokers=True),
}
"""By the name of the profile. Those that a cluster does not tell apart must be named in the stack's settings."""
RECOGNIZED = ("apache", "confluent-cloud", "redpanda", "warpstream")
