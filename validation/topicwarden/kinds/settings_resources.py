"""The resources of a kind whose entries are values by name: rates, or settings of groups or subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from topicwarden.kafka.connect.request_errors import RequestError
from topicwarden.kinds.access_resource import AccessResource
from topicwarden.kinds.announced_writes import Announce, announce_writes
from topicwarden.kinds.batches import Batches, EngineCalls
from topicwarden.kinds.properties import Properties

if TYPE_CHECKING:
    from topicwarden.kafka.write.admin_session import AdminSession

_RECORDS: Final = 8_000
"""Metadata records of one request: one for each value. The controller refuses more than 10,000."""


@dataclass(frozen=True)
class SettingsRequests:
    """The requests for the values of many entries: to write them, to wait until brokers have them, and to read them.

    ``named`` returns what an entry is called in requests, given its key. ``most_read`` is the largest read request.
    """

    alter: Callable[[Any, Mapping[Any, Any]], Mapping[Any, RequestError]]
    wait: Callable[[Any, Mapping[Any, Any]], Collection[Any]]
    read: Callable[[Any, Collection[Any]], Mapping[Any, Any]]
    named: Callable[[Any], Any]
    most_read: int = 1_000


class SettingsResources:
    """The values of the entries of one cluster. ``key_of_id`` returns the key of an entry from the id of its resource.

    Only the values that the resource has are its own: others of the same entry stay as they are.
    """

    def __init__(
        self,
        session: AdminSession,
        calls: EngineCalls,
        announce: Announce,
        *,
        kind: AccessResource,
        requests: SettingsRequests,
        key_of_id: Callable[[str], Any],
    ) -> None:
        self._session, self._announce = session, announce
        self._kind, self._requests, self._key_of_id = kind, requests, key_of_id
        self._writes = Batches(self._write, _RECORDS, len, calls=calls)
        self._reads = Batches[Any, None, dict[str, Any]](self._read, requests.most_read, calls=calls)

    async def create(self, inputs: Properties) -> None:
        """Write the values."""
        await self._writes.submit(self._kind.key_of(inputs), {**self._kind.value_of(inputs)})

    async def update(self, id: str, olds: Properties, news: Properties) -> None:
        """Write the values, and remove those that are no longer declared."""
        removed = dict.fromkeys(self._kind.value_of(olds))
        await self._writes.submit(self._kind.key_of(news), {**removed, **self._kind.value_of(news)})

    async def read(self, id: str, declared: Properties | None) -> Properties | None:
        """Return the ``declared`` values (None: all that are set); None if there is none of them."""
        key = self._key_of_id(id) if declared is None else self._kind.key_of(declared)
        found = await self._reads.submit(key, None) or {}
        known = found if declared is None else self._kind.value_of(declared)
        values = {name: value for name, value in found.items() if name in known}
        return {**self._kind.properties(key, {}), "config": values} if values else None

    async def delete(self, id: str, properties: Properties) -> None:
        """Remove the values that the resource has."""
        if values := self._kind.value_of(properties):
            await self._writes.submit(self._kind.key_of(properties), dict.fromkeys(values))

    def _write(self, changes: Mapping[Any, Mapping[str, Any]]) -> Mapping[Any, Exception | None]:
        announce_writes(self._announce, {self._kind.name(key): values for key, values in changes.items()})
        keys = {self._requests.named(key): key for key in changes}
        named = {name: changes[key] for name, key in keys.items()}
        errors = self._session.write(self._requests.alter, self._requests.wait, named)
        return {keys[name]: error for name, error in errors.items()}

    def _read(self, names: Collection[Any]) -> Mapping[Any, Any]:
        keys = {self._requests.named(key): key for key in names}
        found = self._session.request(self._requests.read, list(keys))
        return {keys[name]: values for name, values in found.items()}
