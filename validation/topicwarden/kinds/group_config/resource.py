"""``kafka:index/groupConfig:GroupConfig``: settings of a consumer, share or streams group; a type of our own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topicwarden.kafka.write.admin_session import AdminSession
from topicwarden.kafka.write.group_config_admin import (
    alter_group_configs,
    read_group_configs,
    wait_for_group_configs,
)
from topicwarden.kinds.access_resource import AccessResource, settings_of
from topicwarden.kinds.announced_writes import Announce, announce_writes
from topicwarden.kinds.batches import Batches, EngineCalls
from topicwarden.kinds.group_config.change import group_title
from topicwarden.kinds.properties import Properties
from topicwarden.kinds.resource_type import Kind, PropertyType, PulumiType, as_texts

GROUP_CONFIG_TYPE: Final = "kafka:index/groupConfig:GroupConfig"
_RECORDS: Final = 8_000
"""Metadata records of one request: one for each setting. The controller refuses more than 10,000."""
_READ: Final = 1_000

GROUP_CONFIG: Final = PulumiType(
    token=GROUP_CONFIG_TYPE,
    properties={"group": PropertyType(required=True, replaces=True), "config": PropertyType(Kind.MAP, required=True)},
    id_of=lambda properties: str(properties["group"]),
    raw_state=lambda _: {"obj": {}},
    title=lambda properties: group_title(str(properties["group"])),
    permission="AlterConfigs on the group",
)


class GroupConfigs:
    """The settings of the groups of one cluster. The id is the group.

    Only the settings that the resource has are its own: others of the same group stay as they are.
    """

    def __init__(self, session: AdminSession, calls: EngineCalls, announce: Announce) -> None:
        self._session, self._announce = session, announce
        self._writes = Batches(self._write, _RECORDS, len, calls=calls)
        self._reads = Batches[str, None, dict[str, str]](
            lambda groups: session.request(read_group_configs, groups), _READ, calls=calls
        )

    async def create(self, inputs: Properties) -> None:
        """Write the settings of a group."""
        await self._writes.submit(inputs["group"], {**_config(inputs)})

    async def update(self, id: str, olds: Properties, news: Properties) -> None:
        """Write the settings, and remove those that are no longer declared."""
        await self._writes.submit(news["group"], {**dict.fromkeys(_config(olds)), **_config(news)})

    async def read(self, id: str, declared: Properties | None) -> Properties | None:
        """Return the group's ``declared`` settings (None: all that are set); None if it has none of them."""
        found = await self._reads.submit(id, None) or {}
        known = found if declared is None else _config(declared)
        config = {key: value for key, value in found.items() if key in known}
        return {"group": id, "config": config} if config else None

    async def delete(self, id: str, properties: Properties) -> None:
        """Remove the settings that the resource has."""
        if config := _config(properties):
            await self._writes.submit(id, dict.fromkeys(config))

    def _write(self, changes: Mapping[str, Mapping[str, str | None]]) -> Mapping[str, Exception | None]:
        announce_writes(self._announce, {RESOURCE.name(group): settings for group, settings in changes.items()})
        return self._session.write(alter_group_configs, wait_for_group_configs, changes)


def _config(properties: Properties) -> dict[str, str]:
    return as_texts(properties.get("config") or {})


RESOURCE: Final = AccessResource(
    "group_configs",
    (GROUP_CONFIG,),
    lambda group: (group,),
    lambda group, settings: {"group": group, "config": dict(settings)},
    lambda properties: str(properties["group"]),
    settings_of,
    GroupConfigs,
)
