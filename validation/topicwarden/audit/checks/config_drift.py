"""The effective settings of the topic are the declared ones.

**fail**: a declared setting has another value on the cluster, or a setting was set on the topic that is not declared
(source ``DYNAMIC_TOPIC_CONFIG``). **undecidable**: DescribeConfigs was not granted.

A setting that nobody set may come from a deleted topic with the same name. A KRaft broker that starts does not remove
the setting if both topics were created after its last metadata snapshot. The broker then applies the old setting, but
the controller does not know it, so deleting the setting has no effect.

Example: ``retention.ms`` is declared as 604800000, and was set to 60000 with ``kafka-configs`` by hand.

Confirm: ``kafka-configs --describe --all --topic T`` prints each value with its source.

Remedy: `topicwarden up --refresh` writes the declared value; or declare the live value. To remove a setting that nobody
set, set it by hand once, then delete it.

Prevent: grant AlterConfigs to nobody but the user of deploys.

Source: ``ConfigEntry.ConfigSource``, KIP-226; ``ConfigurationsDelta.replay(RemoveTopicRecord)``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import Declared, LiveSettings
from topicwarden.kafka.read.snapshot import SET_BY_SERVICE, SET_ON_TOPIC
from topicwarden.kafka_facts.configs import definition
from topicwarden.kinds.difference import NOT_DECLARED
from topicwarden.model.verdict import Verdict


class Required(Declared, LiveSettings): ...


_SOURCES = {
    SET_ON_TOPIC: "set on the topic",
    SET_BY_SERVICE: "set by the service",
    "DYNAMIC_BROKER_CONFIG": "set dynamically on the broker",
    "DYNAMIC_DEFAULT_BROKER_CONFIG": "set dynamically for all brokers",
    "STATIC_BROKER_CONFIG": "from the broker's server.properties",
    "DEFAULT_CONFIG": "Kafka's default",
}
_REMOVE = (
    f"{NOT_DECLARED}. If it stays, it comes from a deleted topic of this name: set it by hand once, then delete it"
)

_CHANGED = "`topicwarden up --refresh` writes the declared value; if the change was intended, declare it"
_UNKNOWN = "the broker has no such setting, so the declaration has no effect: remove it, or upgrade the brokers"


def applies(subject: Required) -> bool:
    return True


def judge(subject: Required) -> Iterable[CheckResult]:
    declared, live = subject.declared, subject.live
    for name, expected in sorted(declared.config.items()):
        live_value = live.topic.config.get(name)
        setting = definition(name)
        if live_value is None or not (setting.equivalent(expected, live_value) if setting else expected == live_value):
            source = _SOURCES.get(live.sources.get(name, ""), "unknown to this broker")
            yield CheckResult(
                Verdict.FAIL,
                f"{name} is {live_value if live_value is not None else 'unknown'} ({source}), declared {expected}",
                path=("config", name),
                remedy=_CHANGED if live_value is not None else _UNKNOWN,
                evidence={"setting": name, "declared": expected, "live": live_value, "source": live.sources.get(name)},
            )
    for name, source in sorted(live.sources.items()):
        if source == SET_ON_TOPIC and name not in declared.config:
            live_value = live.topic.config.get(name)
            yield CheckResult(
                Verdict.FAIL,
                f"{name} was set on the topic to {live_value}, and is not declared",
                path=("config",),
                remedy=_REMOVE,
                evidence={"setting": name, "declared": None, "live": live_value, "source": source},
            )
