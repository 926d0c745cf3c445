"""The resources of a kind whose entries are settings by name: of groups, or of client-metrics subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from topicwarden.kafka.write.admin_session import AdminSession
from topicwarden.kafka.write.settings_admin import SettingsAdmin
from topicwarden.kinds.announced_writes import Announce, announce_writes
from topicwarden.kinds.batches import Batches, EngineCalls
from topicwarden.kinds.properties import Properties
from topicwarden.kinds.resource_type import as_texts

_RECORDS: Final = 8_000
"""Metadata records of one request: one for each setting. The controller refuses more than 10,000."""
_READ: Final = 1_000


class SettingsResources:
    """The settings of one cluster. The id of a resource is the name of what has them, its property ``named``.

    Only the settings that the resource has are its own: others of the same name stay as they are. ``resource_name``
    returns the name of the resource.
    """

    def __init__(
        self,
        session: AdminSession,
        calls: EngineCalls,
        announce: Announce,
        *,
        admin: SettingsAdmin,
        named: str,
        resource_name: Callable[[str], str],
    ) -> None:
        self._session, self._announce, self._admin = session, announce, admin
        self._named, self._resource_name = named, resource_name
        self._writes = Batches(self._write, _RECORDS, len, calls=calls)
        self._reads = Batches[str, None, dict[str, str]](
            lambda names: session.request(admin.read, names), _READ, calls=calls
        )

    async def create(self, inputs: Properties) -> None:
        """Write the settings."""
        await self._writes.submit(inputs[self._named], {**_config(inputs)})

    async def update(self, id: str, olds: Properties, news: Properties) -> None:
        """Write the settings, and remove those that are no longer declared."""
        await self._writes.submit(news[self._named], {**dict.fromkeys(_config(olds)), **_config(news)})

    async def read(self, id: str, declared: Properties | None) -> Properties | None:
        """Return the ``declared`` settings (None: all that are set); None if there is none of them."""
        found = await self._reads.submit(id, None) or {}
        known = found if declared is None else _config(declared)
        config = {key: value for key, value in found.items() if key in known}
        return {self._named: id, "config": config} if config else None

    async def delete(self, id: str, properties: Properties) -> None:
        """Remove the settings that the resource has."""
        if config := _config(properties):
            await self._writes.submit(id, dict.fromkeys(config))

    def _write(self, changes: Mapping[str, Mapping[str, str | None]]) -> Mapping[str, Exception | None]:
        announce_writes(self._announce, {self._resource_name(name): settings for name, settings in changes.items()})
        return self._session.write(self._admin.alter, self._admin.wait, changes)


def _config(properties: Properties) -> dict[str, str]:
    return as_texts(properties.get("config") or {})
