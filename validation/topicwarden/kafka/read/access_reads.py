"""Reads the access of a cluster: ACLs, quotas, SCRAM users, settings of groups, and those of the authorizer.

A part that this user may not read, or that the brokers do not offer, is missing, with the reason. The others are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from kafka import KafkaAdminClient
from kafka.admin import ConfigResourceType, ConfigSourceType
from kafka.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    KafkaError,
    SecurityDisabledError,
    UnsupportedVersionError,
    for_code,
)
from kafka.protocol.admin import (
    DescribeClientQuotasRequest,
    DescribeConfigsRequest,
    DescribeUserScramCredentialsRequest,
    ListConfigResourcesRequest,
)

from topicwarden.kafka.connect.client_internals import send_to_any_broker
from topicwarden.kafka.connect.request_error import raise_if_refused, request_error
from topicwarden.kafka.connect.retry import retry_transient
from topicwarden.kafka.read.acl_reads import list_acls
from topicwarden.kafka.read.authorizer_reads import (
    OPEN_WITHOUT_ACL,
    SUPER_USERS,
    read_authorizer_settings,
    with_probed_values,
)
from topicwarden.kafka_facts.services.profile import ServiceProfile
from topicwarden.model.access import AuthorizerSettings, LiveAccess, QuotaEntity, ScramUser

Part = TypeVar("Part")
_DESCRIBE, _DESCRIBE_CONFIGS = "Describe on the Cluster resource", "DescribeConfigs on the Cluster resource"
_AT_ONCE: Final = 1_000
SCRAM_MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
"""The mechanisms by their numbers in Kafka's protocol (KIP-554)."""


def read_access(admin: KafkaAdminClient, service: ServiceProfile, groups: Collection[str] = ()) -> LiveAccess:
    """Return the access of the cluster; ``missing`` has the reason for each part that cannot be read.

    ``groups`` are groups whose settings are read in any case: brokers before Kafka 4.1 do not list the groups that have
    settings. Sends one request for each part, in parallel; one more for a thousand groups; and up to four per broker
    for the authorizer.
    """

    def submit(request: str, permission: str, read: Callable[[], Part]) -> Future[tuple[Part | None, str | None]]:
        return executor.submit(_part, request, permission, read, service)

    with ThreadPoolExecutor(max_workers=5) as executor:
        listing = submit("DescribeAcls", _DESCRIBE, lambda: list_acls(admin))
        quotas = submit("DescribeClientQuotas", _DESCRIBE_CONFIGS, lambda: _read_quotas(admin))
        users = submit("DescribeUserScramCredentials", _DESCRIBE, lambda: _read_users(admin))
        configs = submit("settings of groups", "DescribeConfigs on groups", lambda: _read_group_configs(admin, groups))
        authorizer = submit("settings of brokers", _DESCRIBE_CONFIGS, lambda: read_authorizer_settings(admin))
    acls, settings = listing.result()[0], authorizer.result()[0]
    if acls and settings:
        settings = with_probed_values(admin, settings, acls)
    group_configs, denied = configs.result()[0] or (None, None)
    reasons = {
        "acls": listing.result()[1],
        "quotas": quotas.result()[1],
        "users": users.result()[1],
        "group_configs": configs.result()[1] or denied,
        "authorizer": authorizer.result()[1],
    }
    return LiveAccess(
        acls=acls.acls if acls else None,
        unknown_acls=acls.unknown if acls else 0,
        security_disabled=reasons["acls"] == NO_AUTHORIZER,
        quotas=quotas.result()[0],
        users=users.result()[0],
        group_configs=group_configs,
        settings=settings,
        missing={name: reason for name, reason in reasons.items() if reason} | _hidden(settings or {}),
    )


def _part(
    request: str, permission: str, read: Callable[[], Part], service: ServiceProfile
) -> tuple[Part | None, str | None]:
    """Return what ``read`` returns, or the reason why it cannot be read."""
    if service.missing_api(request):
        return None, f"{service.title} does not offer {request}"
    try:
        return retry_transient(read), None
    except (ClusterAuthorizationFailedError, GroupAuthorizationFailedError):
        return None, f"this user lacks {permission}"
    except SecurityDisabledError:
        return None, NO_AUTHORIZER
    except UnsupportedVersionError:
        return None, f"the brokers do not offer {request}"
    except KafkaError as error:
        return None, f"the brokers do not answer {request}: {request_error(error)}"


NO_AUTHORIZER: Final = "the brokers have no authorizer (authorizer.class.name is not set)"


def _hidden(settings: Mapping[int, AuthorizerSettings]) -> dict[str, str]:
    """Return why values of the authorizer's settings are not known."""
    hidden = {}
    if any(each.super_users is None for each in settings.values()):
        hidden["super_users"] = f"brokers do not show the value of {SUPER_USERS}"
    if any(each.open_without_acl is None for each in settings.values()):
        hidden["open_without_acl"] = (
            f"brokers do not show the value of {OPEN_WITHOUT_ACL}, and what this user may do does not tell"
        )
    return hidden


def _read_quotas(admin: KafkaAdminClient) -> dict[QuotaEntity, dict[str, float]]:
    answer = send_to_any_broker(admin, DescribeClientQuotasRequest(components=[], strict=False))
    raise_if_refused(answer)
    return {
        tuple(sorted(((each.entity_type, each.entity_name) for each in entry.entity), key=lambda part: part[0])): {
            value.key: value.value for value in entry.values
        }
        for entry in answer.entries or ()
    }


def _read_users(admin: KafkaAdminClient) -> dict[tuple[str, str], ScramUser]:
    # Brokers never answer a request with ``users=None`` that they deny: their error response needs a list.
    answer = send_to_any_broker(admin, DescribeUserScramCredentialsRequest(users=[]))
    raise_if_refused(answer)
    return {
        (result.user, mechanism): ScramUser(result.user, mechanism, info.iterations)
        for result in answer.results
        for info in result.credential_infos
        for mechanism in (SCRAM_MECHANISMS.get(info.mechanism, f"mechanism {info.mechanism}"),)
    }


def _read_group_configs(
    admin: KafkaAdminClient, groups: Collection[str]
) -> tuple[Mapping[str, Mapping[str, str]], str | None]:
    """Return the settings that are set on groups, and why some groups may be missing.

    Groups without settings are left out, except for ``groups``. Raises KafkaError if the brokers have no settings of
    groups: before Kafka 3.8, or another implementation.
    """
    configured, incomplete = _configured_groups(admin)
    names = sorted({*groups, *configured})
    found: dict[str, dict[str, str]] = {}
    denied: list[str] = []
    for start in range(0, len(names), _AT_ONCE):
        request = DescribeConfigsRequest(
            resources=[(ConfigResourceType.GROUP, name, None) for name in names[start : start + _AT_ONCE]],
            include_synonyms=False,
            min_version=1,  # the first version with the source of a setting
        )
        for result in send_to_any_broker(admin, request).results:
            if result.error_code == GroupAuthorizationFailedError.errno:
                denied.append(result.resource_name)
            elif result.error_code:
                raise for_code(result.error_code)(result.error_message)
            else:
                found[result.resource_name] = {
                    entry.name: entry.value
                    for entry in result.configs
                    if entry.config_source == ConfigSourceType.DYNAMIC_GROUP_CONFIG and entry.value is not None
                }
    reason = f"this user lacks DescribeConfigs on {_listed(denied)}" if denied else incomplete
    return {name: own for name, own in found.items() if own or name in groups}, reason


def _configured_groups(admin: KafkaAdminClient) -> tuple[list[str], str | None]:
    """Return the names of all groups with settings, and None.

    If the brokers do not list these, return all groups that this user sees, and why others may have settings.
    """
    request = ListConfigResourcesRequest(resource_types=[int(ConfigResourceType.GROUP)], min_version=1)
    try:
        answer = send_to_any_broker(admin, request)
        if not answer.error_code:
            return [str(each.resource_name) for each in answer.config_resources], None
        incomplete = f"this user lacks {_DESCRIBE_CONFIGS}"
    except UnsupportedVersionError:
        incomplete = "brokers before Kafka 4.1 do not list the groups that have settings"
    return [str(group["group_id"]) for group in admin.list_groups()], incomplete


def _listed(names: Collection[str]) -> str:
    shown = ", ".join(sorted(names)[:5])
    return f"the group {shown}" if len(names) == 1 else f"{len(names)} groups: {shown}"
