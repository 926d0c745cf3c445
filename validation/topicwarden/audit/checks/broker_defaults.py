"""Every broker has the same default for each setting that the topic does not declare.

Each broker applies its own configuration to its replicas, so different defaults change the topic's behaviour after an
election. The check covers the settings that can cost records, durability or availability (docs/guards.md).

**fail**: two live brokers have different values for a setting that the YAML does not declare. Brokers that are down are
not checked. **undecidable**: no broker's configuration is visible (DescribeConfigs on the Cluster resource).

Example: ``log.retention.hours`` is 1440 on two brokers and 1 on the third; ``retention.ms is not declared, and differs
by broker: 60d on 1, 2; 1h on 3``.

Confirm: ``kafka-configs --describe --all --entity-type brokers --entity-name N`` for each broker of the finding.

Remedy: declare the setting, or give all brokers the same value.

Prevent: deploy all brokers from the same configuration, or declare the setting in the YAML.

Source: ``KafkaConfig.extractLogConfigMap``, ``LogConfig.fromProps``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import Declared, Live
from topicwarden.kafka.read.effective_defaults import differing_defaults
from topicwarden.kinds.topic.setting_effects import HARMFUL
from topicwarden.model.verdict import Verdict
from topicwarden.plan.consequence_text import by_broker


class Required(Declared, Live): ...


def applies(subject: Required) -> bool:
    return True


def judge(subject: Required) -> Iterable[CheckResult]:
    if not subject.broker_settings_known and any(name not in subject.declared.config for name in HARMFUL):
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "the brokers' settings are not visible",
            path=("config",),
            remedy="grant DescribeConfigs on the Cluster resource",
        )
    for name in HARMFUL:
        brokers = {} if name in subject.declared.config else differing_defaults(subject.snapshot, name)
        if brokers:
            yield CheckResult(
                Verdict.FAIL,
                f"{name} is not declared, and differs by broker: {by_broker(name, brokers)}",
                path=("config",),
                because=("each broker applies its own value to its replicas",),
                remedy=f"declare {name}, or give all brokers the same value",
                evidence={f"brokers with {value}": len(ids) for value, ids in brokers.items()},
            )
