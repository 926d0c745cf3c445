"""Client-metrics subscriptions as YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from topicwarden.kinds.access_converter import AccessConverter, YamlEntry
from topicwarden.kinds.client_metrics.change import PART, Subscription
from topicwarden.kinds.client_metrics.spec import yaml_settings
from topicwarden.model.access import Operation, ResourceType
from topicwarden.model.units import yaml_number


def _yaml(subscriptions: Mapping[Subscription, Mapping[str, str]]) -> Iterator[YamlEntry]:
    for subscription, own in sorted(subscriptions.items()):
        refused = "" if any(own.values()) else f"{PART.title(subscription)}: none of its settings has a value"
        settings = {
            name: yaml_number(name, value) if isinstance(value, int) else value
            for name, value in yaml_settings(own).items()
        }
        yield YamlEntry(PART.name, settings, subscription.name, refused)


CONVERTER: Final = AccessConverter(
    PART.name,
    PART.plural,
    (Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER),
    (Operation.ALTER_CONFIGS, ResourceType.CLUSTER),
    "client-metrics-drift",
    _yaml,
    PART.title,
)
