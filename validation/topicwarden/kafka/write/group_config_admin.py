"""Reads and writes settings of groups (KIP-848, KIP-932, KIP-1071), of many groups with each request."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType
from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest

from topicwarden.kafka.connect.client_internals import send_to_any_broker, send_to_broker
from topicwarden.kafka.connect.request_error import RequestError, error_of_code
from topicwarden.kafka.read.broker_visibility import wait_for_every_broker

_SET, _DELETE = 0, 1
_SET_ON_GROUP: Final = 8
"""``ConfigSource.DYNAMIC_GROUP_CONFIG``: the setting is set on the group itself."""


def alter_group_configs(
    admin: KafkaAdminClient, changes: Mapping[str, Mapping[str, str | None]]
) -> dict[str, RequestError]:
    """Write the settings of each group; None removes a setting, and every other setting stays as it is.

    A group need not exist yet. Return the errors of the groups that were refused.
    """
    request = IncrementalAlterConfigsRequest(
        resources=[
            (
                ConfigResourceType.GROUP,
                group,
                [(key, _DELETE if value is None else _SET, value) for key, value in settings.items()],
            )
            for group, settings in changes.items()
        ],
        validate_only=False,
    )
    return {
        entry["resource_name"]: error_of_code(entry["error_code"], entry["error_message"])
        for entry in send_to_any_broker(admin, request).to_dict()["responses"]
        if entry["error_code"]
    }


def read_group_configs(
    admin: KafkaAdminClient, groups: Collection[str], broker: int | None = None
) -> dict[str, dict[str, str] | RequestError]:
    """Return the settings that are set on each group itself, as ``broker`` knows them; None for any broker."""
    request = DescribeConfigsRequest(
        resources=[(ConfigResourceType.GROUP, group, None) for group in groups], include_synonyms=False, min_version=1
    )
    return {
        result.resource_name: error_of_code(result.error_code, result.error_message)
        if result.error_code
        else {entry.name: str(entry.value) for entry in result.configs if entry.config_source == _SET_ON_GROUP}
        for result in send_to_broker(admin, request, broker).results
    }


def wait_for_group_configs(admin: KafkaAdminClient, expected: Mapping[str, Mapping[str, str | None]]) -> frozenset[str]:
    """Wait until every broker has the settings; return the groups for which one is late. See ``broker_visibility``."""

    def visible(broker: int, pending: Mapping[str, Mapping[str, str | None]]) -> Collection[str]:
        found = read_group_configs(admin, pending, broker)
        return [
            group
            for group, settings in pending.items()
            if isinstance(seen := found.get(group), RequestError)
            or all((seen or {}).get(key) == value for key, value in settings.items())
        ]

    return wait_for_every_broker(admin, expected, visible)
