"""``kafka:index/groupConfig:GroupConfig``: settings of a consumer, share or streams group; a type of our own."""

from __future__ import annotations

from typing import Final

from topicwarden.kafka.write.access_admin import GROUP_SETTINGS
from topicwarden.kinds.access_resource import AccessResource, settings_of
from topicwarden.kinds.group_config.change import GROUP_CONFIGS, group_title
from topicwarden.kinds.resource_type import Kind, PropertyType, PulumiType
from topicwarden.kinds.settings_resources import SettingsRequests, SettingsResources

GROUP_CONFIG_TYPE: Final = "kafka:index/groupConfig:GroupConfig"
GROUP_CONFIG: Final = PulumiType(
    token=GROUP_CONFIG_TYPE,
    properties={"group": PropertyType(required=True, replaces=True), "config": PropertyType(Kind.MAP, required=True)},
    id_of=lambda properties: str(properties["group"]),
    raw_state=lambda _: {"obj": {}},
    title=lambda properties: group_title(str(properties["group"])),
    permission="AlterConfigs on the group",
)
_REQUESTS: Final = SettingsRequests(GROUP_SETTINGS.alter, GROUP_SETTINGS.wait, GROUP_SETTINGS.read, str)
RESOURCE: Final[AccessResource] = AccessResource(
    GROUP_CONFIGS,
    (GROUP_CONFIG,),
    lambda group: (group,),
    lambda group, settings: {"group": group, "config": dict(settings)},
    lambda properties: str(properties["group"]),
    settings_of,
    lambda target: SettingsResources(*target.cluster, kind=RESOURCE, requests=_REQUESTS, key_of_id=str),
)
