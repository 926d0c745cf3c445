"""Tells which service a cluster is, which settings of a topic somebody has set there, and what its brokers offer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafka import KafkaAdminClient
from kafka.errors import KafkaError
from kafka.protocol.api_key import ApiKey
from kafka.protocol.metadata import ApiVersionsRequest

from topicwarden import __version__
from topicwarden.kafka.connect.client_internals import answered_requests, send_to_broker
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.snapshot import SET_BY_SERVICE, SET_ON_TOPIC
from topicwarden.kafka_facts.configs import definition
from topicwarden.kafka_facts.services import by_cluster
from topicwarden.kafka_facts.services.profile import ServiceProfile


def service_of(admin: KafkaAdminClient, connection: Connection, cluster_id: str | None = None) -> ServiceProfile:
    """Return the profile of the connected cluster: the one of its settings, or the one that its answers tell.

    ``cluster_id`` saves a request, if it is known.
    """
    if connection.profile is not None:
        return connection.profile
    return by_cluster(cluster_id or admin.describe_cluster()["cluster_id"], answered_requests(admin))


def setting_source(service: ServiceProfile, name: str, value: str | None, source: str) -> str:
    """Return the source of a topic's setting: as reported, or ``SET_BY_SERVICE`` if no user has set it.

    The service may have settings that Kafka does not know, and may report defaults as set on the topic.
    """
    if source != SET_ON_TOPIC:
        return source
    known = definition(name)
    if known is None:
        return SET_BY_SERVICE if service.own_settings else source
    default = service.default(name, known.default)
    as_default = value is not None and default is not None and known.equivalent(value, default)
    return SET_BY_SERVICE if service.reports_defaults_as_set and as_default else source


METADATA_VERSION: Final = "metadata.version"
_ONLY_KRAFT: Final = "DescribeQuorum"
_ONLY_ZOOKEEPER: Final = "LeaderAndIsr"
_NAMES: Final = {int(key): str(key.name) for key in ApiKey}

_FIRST_LEVELS: Final = {
    **{1: "3.0", 2: "3.1", 3: "3.2", 4: "3.3", 8: "3.4", 9: "3.5", 12: "3.6", 15: "3.7", 20: "3.8", 21: "3.9"},
    **{22: "4.0", 26: "4.1", 28: "4.2", 30: "4.3", 31: "4.4"},
}
"""The first level of ``metadata.version`` of each Kafka line (``org.apache.kafka.server.common.MetadataVersion``)."""
_LAST_KNOWN: Final = 33


@dataclass(frozen=True)
class BrokerFeatures:
    """The APIs of all living brokers with their highest versions, by name, and the finalized features with levels."""

    apis: Mapping[str, int]
    features: Mapping[str, int]

    @property
    def mode(self) -> str | None:
        """``KRaft`` or ``ZooKeeper``: each has an API of its own. None for other implementations of Kafka."""
        if _ONLY_KRAFT in self.apis:
            return "KRaft"
        return "ZooKeeper" if _ONLY_ZOOKEEPER in self.apis else None

    @property
    def kafka(self) -> str | None:
        """The Kafka line of ``metadata.version``, such as ``4.1``; the brokers' software may be newer. None without."""
        level = self.features.get(METADATA_VERSION)
        if level is None:
            return None
        line = bisect_right([*_FIRST_LEVELS], level)
        newest = [*_FIRST_LEVELS.values()][line - 1] if line else None
        return f"{newest} or later" if level > _LAST_KNOWN else newest


def read_broker_features(admin: KafkaAdminClient, brokers: Collection[int]) -> BrokerFeatures:
    """Return what ``brokers`` offer, with one request for each one. Needs no permissions.

    A broker that does not answer is left out. Raises KafkaError if none answers.
    """
    request = ApiVersionsRequest(client_software_name="topicwarden", client_software_version=__version__)
    answers = []
    for number, broker in enumerate(brokers, 1):
        try:
            answers.append(send_to_broker(admin, request, broker))
        except KafkaError:
            if number == len(brokers) and not answers:
                raise
    return features_of(answers)


def features_of(answers: list[Any]) -> BrokerFeatures:
    """Return what is in every one of the ``answers`` to ApiVersions."""
    offered = [{each.api_key: each.max_version for each in answer.api_keys} for answer in answers]
    shared = set.intersection(*(set(each) for each in offered)) if offered else set()
    return BrokerFeatures(
        {_NAMES.get(key, str(key)): min(each[key] for each in offered) for key in sorted(shared)},
        {
            each.name: each.max_version_level
            for answer in answers
            for each in getattr(answer, "finalized_features", None) or ()
        },
    )
