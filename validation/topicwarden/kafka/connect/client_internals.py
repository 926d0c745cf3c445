"""The only module that uses private APIs of kafka-python. ``pyproject.toml`` therefore pins its exact version.

- ``KafkaAdminClient._manager``: its ``run`` and ``send`` carry requests that the Admin client has no method for. These
  are a fetch of raw record batches (``FetchRequest``), ``ConsumerGroupDescribeRequest``,
  ``DescribeShareGroupOffsetsRequest`` and ``StreamsGroupDescribeRequest``.
- ``KafkaAdminClient._find_coordinator_ids``: finds the coordinators of groups. The public methods do
  this only for requests of their own.
- ``KafkaAdminClient._controller_id``: the cached controller. The client does not look for a new controller when the
  controller moves, so the cache must be cleared.
- ``KafkaAdminClient._manager.broker_version_data``: the requests that the brokers answer. The public method fails for a
  request that the client does not know.
- ``KafkaAdminClient._manager.cluster``: the brokers of the metadata, with the addresses that they advertise.

The ``kafka`` room also imports modules without a leading underscore that kafka-python does not document:

- ``kafka.protocol.api_message.ApiMessage`` with ``load_json``, to build messages that kafka-python lacks
  (``member_groups``, ``share_groups``, ``streams_groups``).
- ``kafka.protocol.consumer`` for ``FetchRequest``, ``IsolationLevel`` and ``OffsetSpec``, and ``kafka.protocol.admin``
  for ``ElectionType``.
- ``kafka.partitioner.default.murmur2``, Java's hash of keys (``partition_functions``).
- ``kafka.net.sasl.get_sasl_mechanism``, the tokens of a SASL mechanism (``sasl``), and
  ``kafka.net.sasl.oauth.AbstractTokenProvider`` (``oauth_tokens``).
- The module names ``kafka`` and ``asyncio`` in tracebacks, to recognize errors of the client (``admin_client``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from kafka import KafkaAdminClient


def send_to_broker(admin: KafkaAdminClient, request: Any, broker: int | None) -> Any:
    """Send ``request`` to the broker with the id ``broker``, or to any broker, and return its response."""
    manager = admin._manager

    async def send() -> Any:
        return await manager.send(request, node_id=broker)

    return manager.run(send)


def send_to_any_broker(admin: KafkaAdminClient, request: Any) -> Any:
    """Send ``request`` to the least loaded broker, and return its response."""
    return send_to_broker(admin, request, None)


def find_coordinators(admin: KafkaAdminClient, groups: Collection[str]) -> dict[str, int]:
    """Return the broker id of the coordinator of each of ``groups``."""

    async def find() -> dict[str, int]:
        return dict(await admin._find_coordinator_ids(groups))

    return dict(admin._manager.run(find))


def send_to_coordinators(
    admin: KafkaAdminClient, groups: Collection[str], request_for: Callable[[list[str]], Any]
) -> list[Any]:
    """Send the request for its groups to the coordinator of each group in ``groups``, and return the responses.

    Raises UnsupportedVersionError if a broker does not know the request.
    """
    coordinators: dict[int, list[str]] = {}
    for name, broker in find_coordinators(admin, sorted(groups)).items():
        coordinators.setdefault(broker, []).append(name)
    return [send_to_broker(admin, request_for(names), broker) for broker, names in coordinators.items()]


def forget_controller(admin: KafkaAdminClient) -> None:
    """Clear the cached controller, so that the next request looks for the current controller."""
    admin._controller_id = None


def answered_requests(admin: KafkaAdminClient) -> frozenset[int]:
    """Return the numbers of the requests of Kafka's protocol that the brokers answer (ApiVersions, KIP-35)."""
    return frozenset(map(int, admin._manager.broker_version_data.api_versions))


def advertised_addresses(admin: KafkaAdminClient) -> list[str]:
    """Return the ``host:port`` that each broker advertises for the listener of ``admin``."""
    brokers = admin._manager.cluster.brokers()
    return [f"[{each.host}]:{each.port}" if ":" in each.host else f"{each.host}:{each.port}" for each in brokers]
