"""``kafka:index/groupConfig:GroupConfig``: settings of a consumer, share or streams group; a type of our own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topicwarden.deploy.access_state import GROUP_CONFIG_TYPE, group_name, group_title
from topicwarden.deploy.intent_log import Announce, announce_writes
from topicwarden.deploy.provider.batches import Batches, EngineCalls
from topicwarden.deploy.provider.properties import Properties
from topicwarden.deploy.provider.resource_type import Kind, PropertyType, PulumiType, as_texts
from topicwarden.kafka.write.admin_session import AdminSession
from topicwarden.kafka.write.group_config_admin import (
    alter_group_configs,
    read_group_configs,
    wait_for_group_configs,
)

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
        announce_writes(self._announce, {group_name(group): settings for group, settings in changes.items()})
        return self._session.write(alter_group_configs, wait_for_group_configs, changes)


def _config(properties: Properties) -> dict[str, str]:
    return as_texts(properties.get("config") or {})
