"""Probe of a cluster: the brokers that answer and take part."""

from __future__ import annotations

from collections.abc import Sequence

from kafka import KafkaAdminClient
from kafka.errors import KafkaError


def brokers(bootstrap_servers: Sequence[str], timeout_s: float) -> set[int]:
    """Return the ids of the brokers that the cluster's metadata lists and that are not fenced.

    ``bootstrap_servers`` are plaintext addresses (``host:port``). Empty if none answers within ``timeout_s`` seconds.
    A broker that died stays listed until its session times out (``broker.session.timeout.ms``).
    """
    timeout_ms = int(timeout_s * 1000)
    try:
        with KafkaAdminClient(
            bootstrap_servers=list(bootstrap_servers),
            client_id="topicwarden-probe",
            request_timeout_ms=timeout_ms,
            bootstrap_timeout_ms=timeout_ms,
        ) as admin:
            described = admin.describe_cluster()
    except (KafkaError, OSError):
        return set()
    return {broker["broker_id"] for broker in described["brokers"] if not broker.get("is_fenced", False)}
