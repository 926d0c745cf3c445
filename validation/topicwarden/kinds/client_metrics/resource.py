"""``kafka:index/clientMetrics:ClientMetrics``: a client-metrics subscription; a type of our own."""

from __future__ import annotations

from typing import Final

from topicwarden.kafka.write.access_admin import CLIENT_METRICS
from topicwarden.kinds.access_resource import AccessResource, settings_of
from topicwarden.kinds.client_metrics.change import PART, Subscription
from topicwarden.kinds.resource_type import Kind, PropertyType, PulumiType
from topicwarden.kinds.settings_resources import SettingsRequests, SettingsResources

_NAMESPACE: Final = ("client-metrics", "subscription")
TYPE: Final = PulumiType(
    token="kafka:index/clientMetrics:ClientMetrics",
    properties={"name": PropertyType(required=True, replaces=True), "config": PropertyType(Kind.MAP, required=True)},
    id_of=lambda properties: str(properties["name"]),
    raw_state=lambda _: {"obj": {}},
    title=lambda properties: PART.title(properties["name"]),
    permission="AlterConfigs on the cluster",
)
_REQUESTS: Final = SettingsRequests(CLIENT_METRICS.alter, CLIENT_METRICS.wait, CLIENT_METRICS.read, str)
RESOURCE: Final[AccessResource] = AccessResource(
    PART.name,
    (TYPE,),
    lambda key: (*_NAMESPACE, key.name),
    lambda key, settings: {"name": key.name, "config": dict(settings)},
    lambda properties: Subscription(str(properties["name"])),
    settings_of,
    lambda target: SettingsResources(*target.cluster, kind=RESOURCE, requests=_REQUESTS, key_of_id=Subscription),
)
