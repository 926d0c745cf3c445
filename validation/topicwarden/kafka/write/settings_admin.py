"""Reads and writes the settings of groups and of client-metrics subscriptions, of many with each request.

Source: ``IncrementalAlterConfigsRequest`` (KIP-339). Groups: KIP-848, KIP-932, KIP-1071; subscriptions: KIP-714.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType
from kafka.errors import KafkaError
from kafka.protocol.admin import IncrementalAlterConfigsRequest

from topicwarden.kafka.connect.client_internals import send_to_any_broker
from topicwarden.kafka.connect.request_error import RequestError, error_of_code, request_error
from topicwarden.kafka.read.broker_visibility import wait_for_every_broker
from topicwarden.kafka.read.settings_reads import own_settings

_SET, _DELETE = 0, 1


class SettingsAdmin:
    """The settings of all resources of one type: ``GROUP`` or ``CLIENT_METRICS``."""

    def __init__(self, type: ConfigResourceType) -> None:
        self._type = type

    def alter(
        self, admin: KafkaAdminClient, changes: Mapping[str, Mapping[str, str | None]]
    ) -> dict[str, RequestError]:
        """Write the settings of each resource; None removes a setting, and every other setting stays as it is.

        A resource need not exist yet. Return the errors of those that were refused.
        """
        request = IncrementalAlterConfigsRequest(
            resources=[
                (
                    self._type,
                    name,
                    [(key, _DELETE if value is None else _SET, value) for key, value in own.items()],
                )
                for name, own in changes.items()
            ],
            validate_only=False,
        )
        return {
            entry["resource_name"]: error_of_code(entry["error_code"], entry["error_message"])
            for entry in send_to_any_broker(admin, request).to_dict()["responses"]
            if entry["error_code"]
        }

    def read(
        self, admin: KafkaAdminClient, names: Collection[str], broker: int | None = None
    ) -> dict[str, dict[str, str] | RequestError]:
        """Return the settings that are set on each resource itself, as ``broker`` knows them; None for any broker."""
        found = own_settings(admin, self._type, names, broker)
        return {name: request_error(own) if isinstance(own, KafkaError) else own for name, own in found.items()}

    def wait(self, admin: KafkaAdminClient, expected: Mapping[str, Mapping[str, str | None]]) -> frozenset[str]:
        """Wait until every broker has the settings; return the names for which one is late.

        See ``broker_visibility``.
        """

        def visible(broker: int, pending: Mapping[str, Mapping[str, str | None]]) -> Collection[str]:
            found = self.read(admin, pending, broker)
            return [
                name
                for name, settings in pending.items()
                if isinstance(seen := found.get(name), RequestError)
                or all((seen or {}).get(key) == value for key, value in settings.items())
            ]

        return wait_for_every_broker(admin, expected, visible)


GROUP_SETTINGS: Final = SettingsAdmin(ConfigResourceType.GROUP)
CLIENT_METRICS: Final = SettingsAdmin(ConfigResourceType.CLIENT_METRICS)
