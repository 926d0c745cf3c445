"""Reads the access of a cluster, and the settings of its authorizer.

A part that this user may not read, or that the brokers do not offer, is missing, with the reason. The others are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from kafka import KafkaAdminClient
from kafka.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    KafkaError,
    SecurityDisabledError,
    UnsupportedVersionError,
)

from topicwarden.kafka.connect.request_errors import request_error, retry_transient
from topicwarden.kafka.read.authorizer_reads import (
    OPEN_WITHOUT_ACL,
    SUPER_USERS,
    AclListing,
    read_authorizer_settings,
    with_probed_values,
)
from topicwarden.kafka_facts.services.profile import ServiceProfile
from topicwarden.kinds import modules
from topicwarden.kinds.difference import LivePart, ReadEntries, complete
from topicwarden.model.access import ACLS, AuthorizerSettings, LiveAccess

_DESCRIBE_CONFIGS: Final = "DescribeConfigs on the Cluster resource"


def read_access(admin: KafkaAdminClient, service: ServiceProfile, groups: Collection[str] = ()) -> LiveAccess:
    """Return the access of the cluster; ``missing`` has the reason for each part that cannot be read.

    ``groups`` are groups whose settings are read in any case: brokers before Kafka 4.1 do not list the groups that have
    settings. Sends one request for each part, in parallel; one more for a thousand groups; and up to four per broker
    for the authorizer.
    """
    parts: tuple[LivePart, ...] = tuple(each.LIVE for each in modules("live"))
    with ThreadPoolExecutor(max_workers=len(parts) + 1) as executor:
        reads = {part.name: executor.submit(_part, part, partial(part.read, admin, groups), service) for part in parts}
        brokers = LivePart("authorizer", "settings of brokers", _DESCRIBE_CONFIGS, complete(read_authorizer_settings))
        authorizer = executor.submit(_part, brokers, partial(brokers.read, admin, groups), service)
    entries = {name: read.result()[0] for name, read in reads.items()}
    reasons = {name: read.result()[1] for name, read in {**reads, brokers.name: authorizer}.items()}
    listing: AclListing | None = entries[ACLS]
    entries[ACLS] = dict.fromkeys(listing.acls, True) if listing else None
    settings = authorizer.result()[0]
    if listing and settings:
        settings = with_probed_values(admin, settings, listing)
    return LiveAccess(
        unknown_acls=listing.unknown if listing else 0,
        security_disabled=reasons[ACLS] == NO_AUTHORIZER,
        settings=settings,
        missing={name: reason for name, reason in reasons.items() if reason} | _hidden(settings or {}),
        parts=entries,
    )


def _part(part: LivePart, read: Callable[[], ReadEntries], service: ServiceProfile) -> ReadEntries:
    """Return the entries of ``part``, and the reason why some, or all, cannot be read."""
    if service.missing_api(part.request):
        return None, f"{service.title} does not offer {part.request}"
    try:
        return retry_transient(read)
    except (ClusterAuthorizationFailedError, GroupAuthorizationFailedError):
        return None, f"this user lacks {part.permission}"
    except SecurityDisabledError:
        return None, NO_AUTHORIZER
    except UnsupportedVersionError:
        return None, f"the brokers do not offer {part.request}"
    except KafkaError as error:
        return None, f"the brokers do not answer {part.request}: {request_error(error)}"


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
