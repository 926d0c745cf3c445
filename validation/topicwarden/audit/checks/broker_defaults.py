"""Every broker has the same default for what the topic leaves to its brokers.

Each broker applies its own configuration to the replicas that it has, so that the topic behaves otherwise after an
election. Looked at are the settings that can cost records, durability or availability (docs/guards.md).

**fail**: two living brokers have different values for a setting that the YAML does not declare. A broker that is lost
is not asked. **undecidable**: no broker's configuration may be read (DescribeConfigs on the Cluster resource).

Example: ``log.retention.hours`` is 1440 on two brokers and 1 on the third; ``retention.ms is not declared, and differs
by broker: 60d on 1, 2; 1h on 3``.

Remedy: declare the setting, or give all brokers the same value.

Source: ``KafkaConfig.extractLogConfigMap``, ``LogConfig.fromProps``.
"""

from collections.abc import Iterable

from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict
from topicwarden.plan.effective_defaults import differing_defaults
from topicwarden.plan.setting_effects import HARMFUL
from topicwarden.plan.wording import spelled

TRAITS = Traits()


def applies(subject: AuditedTopic) -> bool:
    return subject.declared is not None and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.declared
    if not subject.broker_settings_known and any(name not in subject.declared.config for name in HARMFUL):
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "the brokers do not tell their settings",
            path=("config",),
            remedy="grant DescribeConfigs on the Cluster resource",
        )
    for name in HARMFUL:
        brokers = {} if name in subject.declared.config else differing_defaults(subject.snapshot, name)
        if brokers:
            shown = "; ".join(f"{spelled(name, value)} on {', '.join(map(str, ids))}" for value, ids in brokers.items())
            yield CheckResult(
                Verdict.FAIL,
                f"{name} is not declared, and differs by broker: {shown}",
                path=("config",),
                because=("each broker applies its own value to the replicas that it has",),
                remedy=f"declare {name}, or give all brokers the same value",
                evidence={f"brokers with {value}": len(ids) for value, ids in brokers.items()},
            )
