"""Warn about settings of groups outside the limits that brokers have by default.

Brokers refuse them with `InvalidConfigurationException` (`GroupConfig.validate`), unless their own settings
`group.*.min.*` and `group.*.max.*` allow them. A check sees no brokers, and compares with Kafka's defaults.

Example: `group_configs: {billing: {consumer.session.timeout.ms: 10s}}`: brokers accept 45s to 1m.
Remedy: declare a value within the limits. If the brokers have other limits, switch the rule off for their stacks.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kinds.group_config.change import GROUP_CONFIGS
from topicwarden.model.access import DeclaredAccess
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import value_text
from topicwarden.policies.rule import AccessViolation, AdviceSettings

_EACH_KIND: Final = {
    "session.timeout.ms": (45_000, 60_000),
    "heartbeat.interval.ms": (5_000, 15_000),
    "assignment.interval.ms": (None, 15_000),
}
_LIMITS: Final[dict[str, tuple[int | None, int | None]]] = {
    **{f"{kind}.{name}": each for kind in ("consumer", "share", "streams") for name, each in _EACH_KIND.items()},
    "share.record.lock.duration.ms": (15_000, 60_000),
    "share.delivery.count.limit": (2, 10),
    "share.partition.max.record.locks": (100, 4_000),
    "streams.num.standby.replicas": (None, 2),
    "streams.num.warmup.replicas": (None, 20),
    "streams.task.offset.interval.ms": (15_000, None),
}
"""The defaults of ``GroupCoordinatorConfig`` and ``ShareGroupConfig``, which are the same in Kafka 4.0 to 4.4."""

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()


def judge_access(
    access: DeclaredAccess, topics: Sequence[Topic], settings: Settings, brokers: BrokerSettings
) -> Iterable[AccessViolation]:
    for group, configs in access.part(GROUP_CONFIGS).items():
        location = access.sources(GROUP_CONFIGS, group)[0].location
        for name in configs.keys() & _LIMITS.keys():
            value, (least, most) = int(configs[name]), _LIMITS[name]
            for bound, limit, outside in (("min", least, "less"), ("max", most, "more")):
                if limit is not None and (value < limit if bound == "min" else value > limit):
                    message = (
                        f"{group}: {name} is {value_text(name, value)}, and brokers refuse {outside} than "
                        f"{value_text(name, limit)} unless they set {_broker_setting(name, bound)}"
                    )
                    yield AccessViolation(location, message)


def _broker_setting(name: str, bound: str) -> str:
    """Return the setting of brokers that limits a setting of groups, such as ``group.share.max.session.timeout.ms``."""
    kind, _, rest = name.partition(".")
    return f"group.{kind}.{bound}.{rest.removeprefix('num.')}"
