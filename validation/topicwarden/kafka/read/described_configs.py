"""Describes configurations: the one request for settings of topics, brokers, groups and metrics subscriptions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, TypeAlias

from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType, ConfigSourceType
from kafka.errors import KafkaError, for_code
from kafka.protocol.admin import DescribeConfigsRequest

from topicwarden.kafka.connect.client_internals import send_to_broker, send_to_brokers

Settings: TypeAlias = dict[str, tuple[str | None, str]]
"""The value of each setting, None if it is sensitive, and the name of its source (``ConfigSourceType``)."""

_SOURCES: Final = {int(source): source.name for source in ConfigSourceType}


def describe_configs(
    admin: KafkaAdminClient,
    type: ConfigResourceType,
    names: Mapping[str, Collection[str] | None],
    broker: int | None = None,
) -> dict[str, Settings | KafkaError]:
    """Return the settings of each resource as ``broker`` knows them (None: any broker), or its error.

    ``names`` has the names of the settings to read of each resource, None for all. Without resources, no request is
    sent.
    """
    return _described(send_to_broker(admin, _request(type, names), broker)) if names else {}


def describe_brokers(
    admin: KafkaAdminClient, brokers: Iterable[int], settings: Collection[str] | None = None
) -> dict[int, Settings]:
    """Return ``settings`` (None: all) of each broker, which it reports itself; none if the broker refuses.

    Raises KafkaError if a broker does not answer.
    """
    requests = {broker: [_request(ConfigResourceType.BROKER, {str(broker): settings})] for broker in brokers}
    found: dict[int, Settings] = {}
    for broker, (answer,) in send_to_brokers(admin, requests).items():
        if isinstance(answer, KafkaError):
            raise answer
        described = _described(answer)[str(broker)]
        found[broker] = {} if isinstance(described, KafkaError) else described
    return found


def _request(type: ConfigResourceType, names: Mapping[str, Collection[str] | None]) -> DescribeConfigsRequest:
    return DescribeConfigsRequest(
        resources=[(type, name, None if settings is None else list(settings)) for name, settings in names.items()],
        include_synonyms=False,
        min_version=1,  # the first version with the source of a setting
    )


def _described(answer: Any) -> dict[str, Settings | KafkaError]:
    return {
        result.resource_name: for_code(result.error_code)(result.error_message)
        if result.error_code
        else {each.name: (each.value, _SOURCES.get(each.config_source, "UNKNOWN")) for each in result.configs}
        for result in answer.results
    }
