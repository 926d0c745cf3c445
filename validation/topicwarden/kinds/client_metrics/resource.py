"""``kafka:index/clientMetrics:ClientMetrics``: a client-metrics subscription; a type of our own."""

from __future__ import annotations

from functools import partial
from typing import Final

from topicwarden.kafka.write.settings_admin import CLIENT_METRICS
from topicwarden.kinds.access_resource import AccessResource, resource_hash, settings_of
from topicwarden.kinds.client_metrics.change import PART, Subscription
from topicwarden.kinds.resource_type import Kind, PropertyType, PulumiType
from topicwarden.kinds.settings_resources import SettingsResources

_NAMESPACE: Final = ("client-metrics", "subscription")
TYPE: Final = PulumiType(
    token="kafka:index/clientMetrics:ClientMetrics",
    properties={"name": PropertyType(required=True, replaces=True), "config": PropertyType(Kind.MAP, required=True)},
    id_of=lambda properties: str(properties["name"]),
    raw_state=lambda _: {"obj": {}},
    title=lambda properties: PART.title(properties["name"]),
    permission="AlterConfigs on the cluster",
)
RESOURCE: Final = AccessResource(
    PART.name,
    (TYPE,),
    lambda key: (*_NAMESPACE, key.name),
    lambda key, settings: {"name": key.name, "config": dict(settings)},
    lambda properties: Subscription(str(properties["name"])),
    settings_of,
    partial(
        SettingsResources,
        admin=CLIENT_METRICS,
        named="name",
        resource_name=partial(resource_hash, *_NAMESPACE),
    ),
)
