"""The topic's settings in force are those that were declared.

**fail**: a declared setting has another value on the cluster, or somebody set one on the topic that is
not declared (source ``DYNAMIC_TOPIC_CONFIG``). **undecidable**: DescribeConfigs was not granted.

A setting that nobody set may be one of a deleted topic of that name: a broker of KRaft that starts forgets to take it
away where both topics came after its last snapshot of the metadata, and has it in force. To delete it changes nothing
then, as the controller does not know of it.

Example: ``retention.ms`` is declared as 604800000, and was set to 60000 with ``kafka-configs`` by hand.

Remedy: `pulumi up` writes what is declared; or declare what was set. What nobody set has to be set by hand once, to be
deleted.

Source: ``ConfigEntry.ConfigSource``, KIP-226; ``ConfigurationsDelta.replay(RemoveTopicRecord)``.
"""

from collections.abc import Iterable

from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.kafka.snapshot import SET_ON_TOPIC
from topicwarden.model.verdict import Verdict
from topicwarden.specs.configs import definition

TRAITS = Traits()
_SOURCES = {
    SET_ON_TOPIC: "set on the topic",
    "DYNAMIC_BROKER_CONFIG": "set on the broker while it runs",
    "DYNAMIC_DEFAULT_BROKER_CONFIG": "set for all brokers while they run",
    "STATIC_BROKER_CONFIG": "from the broker's server.properties",
    "DEFAULT_CONFIG": "Kafka's default",
}
_NOT_DECLARED = (
    "declare it, or remove it from the topic; the next `pulumi up` that changes this topic drops it. "
    "If it stays, it is of a deleted topic of this name: set it by hand once, then delete it"
)


def applies(subject: AuditedTopic) -> bool:
    return subject.declared is not None and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    declared, live = subject.declared, subject.live
    assert declared and live
    if not subject.settings_known:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "the brokers did not tell the topic's configuration",
            remedy="grant DescribeConfigs on the topic",
        )
        return
    for name, expected in sorted(declared.config.items()):
        seen = live.topic.config.get(name)
        known = definition(name)
        if seen is None or not (known.same(expected, seen) if known else expected == seen):
            source = _SOURCES.get(live.sources.get(name, ""), "unknown to this broker")
            yield CheckResult(
                Verdict.FAIL,
                f"{name} is {seen if seen is not None else 'not known here'} ({source}), declared {expected}",
                path=("config", name),
                remedy="`pulumi up` writes what is declared, if nobody meant the change; else declare it",
                evidence={"setting": name, "declared": expected, "live": seen, "source": live.sources.get(name)},
            )
    for name, source in sorted(live.sources.items()):
        if source == SET_ON_TOPIC and name not in declared.config:
            seen = live.topic.config.get(name)
            yield CheckResult(
                Verdict.FAIL,
                f"{name} was set on the topic to {seen}, and is not declared",
                path=("config",),
                remedy=_NOT_DECLARED,
                evidence={"setting": name, "declared": None, "live": seen, "source": source},
            )
