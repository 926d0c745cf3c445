"""Profiles of managed and compatible Kafka services: one module for each service, with a source for each fact.

To add a service, add a module with its ``PROFILE``, and a line in ``PROFILES``. No package has code for
one service: rules, plan, provider, rebalance and audit read the profile.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from topicwarden.kafka_facts.services import (
    aiven,
    apache,
    confluent_cloud,
    event_hubs,
    msk,
    msk_express,
    msk_serverless,
    redpanda,
    warpstream,
)
from topicwarden.kafka_facts.services.profile import ServiceProfile

APACHE: Final = apache.PROFILE

PROFILES: Final[dict[str, ServiceProfile]] = {
    profile.name: profile
    for profile in (
        APACHE,
        msk.PROFILE,
        msk_express.PROFILE,
        msk_serverless.PROFILE,
        confluent_cloud.PROFILE,
        redpanda.PROFILE,
        aiven.PROFILE,
        warpstream.PROFILE,
        event_hubs.PROFILE,
    )
}
"""The profiles by the name that ``topicwarden:profile`` has."""


def by_hosts(addresses: Iterable[str]) -> ServiceProfile | None:
    """Return the profile of the service whose host names all ``addresses`` (``host:port``) have; None if unknown."""
    hosts = [address.rpartition(":")[0] for address in addresses]
    found = (profile for profile in PROFILES.values() if hosts and all(map(profile.recognition.by_host, hosts)))
    profile = next(found, None)
    return profile.recognized() if profile else None


def by_cluster(cluster_id: str | None, requests: Iterable[int]) -> ServiceProfile:
    """Return the profile of a cluster with this id, which answers ``requests`` of Kafka's protocol, by number.

    A cluster that nothing tells apart from Apache Kafka has the profile ``apache``.
    """
    answered = frozenset(requests)
    found = (profile for profile in PROFILES.values() if profile.recognition.by_cluster(cluster_id, answered))
    profile = next(found, None)
    return profile.recognized() if profile else APACHE
