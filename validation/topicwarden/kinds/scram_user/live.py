"""Reads the users with SCRAM credentials from a cluster (KIP-554)."""

from __future__ import annotations

from typing import Final

from kafka import KafkaAdminClient
from kafka.protocol.admin import DescribeUserScramCredentialsRequest

from topicwarden.kafka.connect.client_internals import send_to_broker
from topicwarden.kafka.connect.request_errors import raise_if_refused
from topicwarden.kinds.difference import LivePart, complete
from topicwarden.kinds.scram_user.change import USERS
from topicwarden.model.access import ScramUser

_MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
"""The mechanisms by their numbers in Kafka's protocol."""


def list_users(admin: KafkaAdminClient, broker: int | None = None) -> dict[tuple[str, str], ScramUser]:
    """Return the users that ``broker`` knows, by name and mechanism; None for any broker.

    Needs Describe on the Cluster resource.
    """
    # Brokers never answer a request with ``users=None`` that they deny: their error response needs a list.
    answer = send_to_broker(admin, DescribeUserScramCredentialsRequest(users=[]), broker)
    raise_if_refused(answer)
    return {
        (result.user, mechanism): ScramUser(result.user, mechanism, info.iterations)
        for result in answer.results
        for info in result.credential_infos
        for mechanism in (_MECHANISMS.get(info.mechanism, f"mechanism {info.mechanism}"),)
    }


LIVE = LivePart(USERS, "DescribeUserScramCredentials", "Describe on the Cluster resource", complete(list_users))
