"""The only module that uses private APIs of kafka-python. ``pyproject.toml`` therefore pins its exact version.

- ``KafkaAdminClient._manager``: its ``run`` and ``send`` carry requests that the Admin client has no method for. These
  are a fetch of raw record batches (``FetchRequest``), ``ConsumerGroupDescribeRequest``,
  ``DescribeShareGroupOffsetsRequest``, ``ShareGroupDescribeRequest`` and ``StreamsGroupDescribeRequest``; and those
  that ``call_soon`` sends to all brokers at the same time.
- ``KafkaAdminClient._controller_id``: the cached controller. The client does not look for a new controller when the
  controller moves, so the cache must be cleared.
- ``KafkaAdminClient._manager.broker_version_data``: the requests that the brokers answer. The public method fails for a
  request that the client does not know.
- ``KafkaAdminClient._manager.cluster``: the brokers of the metadata, with the addresses that they advertise, and
  ``request_update``, because the client does not read the metadata again for a broker that it does not know.

The ``kafka`` package also imports modules without a leading underscore that kafka-python does not document:

- ``kafka.protocol.api_message.ApiMessage`` with ``load_json``, to build messages that kafka-python lacks
  (``member_groups``, ``share_groups``, ``streams_groups``).
- ``kafka.protocol.consumer`` for ``FetchRequest``, ``IsolationLevel`` and ``OffsetSpec``, and ``kafka.protocol.admin``
  for ``ElectionType``.
- ``kafka.partitioner.default.murmur2``, Java's hash of keys (``partition_functions``).
- ``kafka.net.sasl.get_sasl_mechanism``, the tokens of a SASL mechanism (``sasl``), and
  ``kafka.net.sasl.oauth.AbstractTokenProvider`` (``sasl``).
- The module names ``kafka`` and ``asyncio`` in tracebacks, to recognize errors of the client (``admin_client``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import KafkaError, UnknownBrokerIdError
from kafka.protocol.consumer import OffsetFetchRequest


def send_to_broker(admin: KafkaAdminClient, request: Any, broker: int | None) -> Any:
    """Send ``request`` to the broker with the id ``broker``, or to any broker, and return its response."""
    manager = admin._manager
    return manager.run(_send, manager, request, broker)


async def _send(manager: Any, request: Any, broker: int | None) -> Any:
    try:
        return await manager.send(request, node_id=broker)
    except UnknownBrokerIdError:  # it has started since the client last read the metadata
        manager.cluster.request_update()
        raise


def send_to_brokers(admin: KafkaAdminClient, requests: Mapping[int, Sequence[Any]]) -> dict[int, list[Any]]:
    """Send the requests of each broker, by its id, one after the other, and to all brokers at the same time.

    Returns, for each request, its response or the ``KafkaError`` that it failed with.
    """
    manager = admin._manager

    async def send_to(broker: int) -> list[Any]:
        answers = list[Any]()
        for request in requests[broker]:
            try:
                answers.append(await _send(manager, request, broker))
            except KafkaError as error:
                answers.append(error)
        return answers

    async def send() -> dict[int, list[Any]]:
        started = {broker: manager.call_soon(send_to, broker) for broker in requests}
        return {broker: await answers for broker, answers in started.items()}

    return dict(manager.run(send))


def send_to_any_broker(admin: KafkaAdminClient, request: Any) -> Any:
    """Send ``request`` to the least loaded broker, and return its response."""
    return send_to_broker(admin, request, None)


def broker_ids(admin: KafkaAdminClient) -> list[int]:
    """Return the ids of the brokers of the metadata."""
    return sorted(broker.node_id for broker in admin._manager.cluster.brokers())


def fetches_offsets_of_several_groups(admin: KafkaAdminClient) -> bool:
    """Return whether one request can fetch the offsets of several groups (KIP-709, Kafka 3.0)."""
    return bool(admin._manager.broker_version_data.api_version(OffsetFetchRequest) >= 8)


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
