"""Describes configurations: the one request for settings of topics, brokers, groups and metrics subscriptions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, TypeAlias

from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType, ConfigSourceType
from kafka.errors import GroupAuthorizationFailedError, KafkaError, UnsupportedVersionError, for_code
from kafka.protocol.admin import DescribeConfigsRequest, ListConfigResourcesRequest

from topicwarden.kafka.connect.client_internals import send_to_any_broker, send_to_broker, send_to_brokers
from topicwarden.kafka.connect.request_errors import raise_if_refused

Settings: TypeAlias = dict[str, tuple[str | None, str]]
"""The value of each setting, None if it is sensitive, and the name of its source (``ConfigSourceType``)."""

_SOURCES: Final = {int(source): source.name for source in ConfigSourceType}

_AT_ONCE: Final = 1_000
"""Resources of one request, whose answer has about 40 settings of each topic."""


def describe_configs(
    admin: KafkaAdminClient,
    type: ConfigResourceType,
    names: Mapping[str, Collection[str] | None],
    broker: int | None = None,
) -> dict[str, Settings | KafkaError]:
    """Return the settings of each resource as ``broker`` knows them (None: any broker), or its error.

    ``names`` has the names of the settings to read of each resource, None for all. One request is sent for 1,000
    resources.
    """
    found: dict[str, Settings | KafkaError] = {}
    items = list(names.items())
    for start in range(0, len(items), _AT_ONCE):
        request = _request(type, dict(items[start : start + _AT_ONCE]))
        found |= _described(send_to_broker(admin, request, broker))
    return found


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


_LACKS: Final = "this user lacks DescribeConfigs on"
_OWN: Final = {
    ConfigResourceType.GROUP: "DYNAMIC_GROUP_CONFIG",
    ConfigResourceType.CLIENT_METRICS: "DYNAMIC_CLIENT_METRICS_CONFIG",
}
"""The source of a setting that is set on the resource itself."""


def list_group_settings(
    admin: KafkaAdminClient, groups: Collection[str]
) -> tuple[Mapping[str, Mapping[str, str]], str | None]:
    """Return the settings that are set on groups, and why some groups may be missing.

    Groups without settings are left out, except for ``groups``. Raises KafkaError if the brokers have no settings of
    groups: before Kafka 3.8, or another implementation.
    """
    configured, incomplete = _configured_groups(admin)
    found, denied = _described_settings(admin, ConfigResourceType.GROUP, {*groups, *configured})
    reason = f"{_LACKS} {_listed(denied)}" if denied else incomplete
    return {name: own for name, own in found.items() if own or name in groups}, reason


def list_client_metrics(admin: KafkaAdminClient) -> Mapping[str, Mapping[str, str]]:
    """Return the settings of each client-metrics subscription.

    Needs DescribeConfigs on the Cluster resource. Raises KafkaError, such as UnsupportedVersionError before Kafka 3.7.
    """
    # Version 0 lists these only (KIP-714), later versions need to be asked for them (KIP-1142).
    answer = send_to_any_broker(
        admin, ListConfigResourcesRequest(resource_types=[int(ConfigResourceType.CLIENT_METRICS)])
    )
    raise_if_refused(answer)
    names = {str(each.resource_name) for each in answer.config_resources}
    return _described_settings(admin, ConfigResourceType.CLIENT_METRICS, names)[0]


def _described_settings(
    admin: KafkaAdminClient, type: ConfigResourceType, names: Collection[str]
) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return the settings that are set on each resource itself, and the groups that this user may not see."""
    found: dict[str, dict[str, str]] = {}
    denied: list[str] = []
    for name, own in own_settings(admin, type, sorted(names)).items():
        if isinstance(own, GroupAuthorizationFailedError):
            denied.append(name)
        elif isinstance(own, KafkaError):
            raise own
        else:
            found[name] = own
    return found, denied


def own_settings(
    admin: KafkaAdminClient, type: ConfigResourceType, names: Collection[str], broker: int | None = None
) -> dict[str, dict[str, str] | KafkaError]:
    """Return the settings that are set on each resource itself, as ``broker`` knows them (None: any), or its error."""
    return {
        name: found
        if isinstance(found, KafkaError)
        else {key: value for key, (value, source) in found.items() if source == _OWN[type] and value is not None}
        for name, found in describe_configs(admin, type, dict.fromkeys(names), broker).items()
    }


def _configured_groups(admin: KafkaAdminClient) -> tuple[list[str], str | None]:
    """Return the names of all groups with settings, and None.

    If the brokers do not list these, return all groups that this user sees, and why others may have settings.
    """
    request = ListConfigResourcesRequest(resource_types=[int(ConfigResourceType.GROUP)], min_version=1)
    try:
        answer = send_to_any_broker(admin, request)
        if not answer.error_code:
            return [str(each.resource_name) for each in answer.config_resources], None
        incomplete = f"{_LACKS} the Cluster resource"
    except UnsupportedVersionError:
        incomplete = "brokers before Kafka 4.1 do not list the groups that have settings"
    return [str(group["group_id"]) for group in admin.list_groups()], incomplete


def _listed(names: Collection[str]) -> str:
    shown = ", ".join(sorted(names)[:5])
    return f"the group {shown}" if len(names) == 1 else f"{len(names)} groups: {shown}"
