"""Tells which service a cluster is, and which settings of a topic somebody has set there."""

from __future__ import annotations

from kafka import KafkaAdminClient

from topicwarden.kafka.connect.client_internals import answered_requests
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
