"""Settings of groups as YAML, in the scope of a stack, and on each version of Kafka."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from topicwarden.kafka_facts.access.roles import NamePattern
from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.configs import group_definitions, group_variants
from topicwarden.kinds.access_converter import AccessConverter, Limit, YamlEntry
from topicwarden.kinds.group_config.change import GROUP_CONFIGS, PART
from topicwarden.model.access import DeclaredAccess, Operation, ResourceType
from topicwarden.model.units import yaml_number

if TYPE_CHECKING:
    from topicwarden.specs.stacks.stack_scope import StackScope


def _yaml(groups: Mapping[str, Mapping[str, str]]) -> Iterator[YamlEntry]:
    for group, own in sorted(groups.items()):
        settings = {
            name: yaml_number(name, int(value)) if value.isdecimal() else value for name, value in sorted(own.items())
        }
        yield YamlEntry(GROUP_CONFIGS, settings, group)


def _outside(group: str, scope: StackScope) -> str:
    owned = scope.owns_name(ResourceType.GROUP, NamePattern(group))
    return "" if owned else f"groups: {', '.join(scope.groups)}"


def _limits(access: DeclaredAccess, brokers: BrokerSettings, _: int | None) -> Iterator[Limit]:
    known = group_definitions(brokers.kafka)
    for group, settings in access.part(GROUP_CONFIGS).items():
        source = access.sources(GROUP_CONFIGS, group)[0]
        for name, value in settings.items():
            if name not in known:
                since = group_variants(name)[0].since
                message = f"Kafka {brokers.kafka} has no group configuration {name}, which Kafka {since} introduced"
                yield Limit(source, f"{group}: {message}; unset it for this stack")
            elif problem := known[name].problem(value):
                yield Limit(source, f"{group}: {name} on Kafka {brokers.kafka}: {problem}")


CONVERTER: Final = AccessConverter(
    GROUP_CONFIGS,
    PART.plural,
    (Operation.DESCRIBE_CONFIGS, ResourceType.GROUP),
    (Operation.ALTER_CONFIGS, ResourceType.GROUP),
    "group-config-drift",
    _yaml,
    lambda group: f"group {group}",
    _outside,
    _limits,
)
