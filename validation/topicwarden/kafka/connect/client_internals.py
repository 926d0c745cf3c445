"""The only module that uses private APIs of kafka-python. ``pyproject.toml`` therefore pins its exact version.

- ``KafkaAdminClient._manager``: its ``run`` and ``send`` carry requests that the Admin client has no method for. These
  are a fetch of raw record batches (``FetchRequest``), ``ConsumerGroupDescribeRequest``,
  ``DescribeShareGroupOffsetsRequest``, ``ShareGroupDescribeRequest`` and ``StreamsGroupDescribeRequest``; and those
  that ``call_soon`` sends to all brokers at the same time.
- ``KafkaAdminClient._list_partition_offsets_request`` and ``_list_partition_offsets_process_response``: its public
  method reads the metadata of all topics before each request, although the leaders are known.
- ``KafkaAdminClient._controller_id``: the cached controller. The client does not look for a new controller when the
  controller moves, so the cache must be cleared.
- ``KafkaAdminClient._manager.broker_version_data``: the requests that the brokers answer. The public method fails for a
  request that the client does not know.
- ``KafkaAdminClient._manager.cluster``: the brokers of the metadata, with the addresses that they advertise, and
  ``request_update``, because the client does not read the metadata again for a broker that it does not know.

The ``kafka`` package also imports modules without a leading underscore that kafka-python does not document:

- ``kafka.protocol.api_message.ApiMessage`` with ``load_json``, to build messages that kafka-python lacks
  (``member_groups``, ``group_offsets``).
- ``kafka.protocol.consumer`` for ``FetchRequest``, ``IsolationLevel`` and ``OffsetSpec``, and ``kafka.protocol.admin``
  for ``ElectionType``.
- ``kafka.partitioner.default.murmur2``, Java's hash of keys (``partition_functions``).
- ``kafka.net.sasl.get_sasl_mechanism``, the tokens of a SASL mechanism (``sasl``), and
  ``kafka.net.sasl.oauth.AbstractTokenProvider`` (``sasl``).
- The module names ``kafka`` and ``asyncio`` in tracebacks, to recognize errors of the client (``clients``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResourceType
from kafka.errors import KafkaError, NotControllerError, UnknownBrokerIdError
from kafka.protocol.admin import IncrementalAlterConfigsRequest
from kafka.protocol.consumer import IsolationLevel, OffsetFetchRequest
from kafka.protocol.metadata import MetadataRequest

T = TypeVar("T")


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


_SET: Final = 0
_DELETE: Final = 1


def settings_request(
    type: ConfigResourceType, changes: Mapping[str, Iterable[tuple[str, str | None]]], *, validate_only: bool
) -> IncrementalAlterConfigsRequest:
    """Return a request that sets settings of each resource; None removes a setting, and every other stays (KIP-339)."""
    return IncrementalAlterConfigsRequest(
        resources=[
            (type, name, [(key, _DELETE if value is None else _SET, value) for key, value in settings])
            for name, settings in changes.items()
        ],
        validate_only=validate_only,
    )


def offsets_at_leaders(
    admin: KafkaAdminClient, specs: Mapping[int, Mapping[TopicPartition, Any]], isolation: IsolationLevel
) -> dict[TopicPartition, Any]:
    """Return the results of ListOffsets by partition. ``specs`` has the partitions of each leader, by its broker id.

    Raises KafkaError if a leader does not answer, or has an error for one of its partitions.
    """
    requests = {leader: [admin._list_partition_offsets_request(each, isolation)] for leader, each in specs.items()}
    results: dict[TopicPartition, Any] = {}
    for (answer,) in send_to_brokers(admin, requests).values():
        if isinstance(answer, KafkaError):
            raise answer
        results |= admin._list_partition_offsets_process_response(answer)
    return results


_WITH_TOPIC_IDS = 10
"""The first version of the Metadata response with all that ``describe_topics`` returns."""


def describe_topics(admin: KafkaAdminClient, names: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Return the metadata of ``names`` (None: of all topics), as ``KafkaAdminClient.describe_topics`` does.

    An empty collection needs no request. The client's method also asks what the user may do with each topic (KIP-430),
    and converts field by field, which takes longer than the request.
    """
    topics = None if names is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    if topics == []:
        return []
    answer = send_to_any_broker(admin, MetadataRequest(topics=topics, allow_auto_topic_creation=False))
    if answer.API_VERSION < _WITH_TOPIC_IDS:
        return list(answer.to_dict()["topics"])
    return [
        {
            "error_code": topic.error_code,
            "name": topic.name,
            "topic_id": str(topic.topic_id),
            "is_internal": topic.is_internal,
            "partitions": [
                {
                    "error_code": state.error_code,
                    "partition_index": state.partition_index,
                    "leader_id": state.leader_id,
                    "leader_epoch": state.leader_epoch,
                    "replica_nodes": state.replica_nodes,
                    "isr_nodes": state.isr_nodes,
                    "offline_replicas": state.offline_replicas,
                }
                for state in topic.partitions
            ],
        }
        for topic in answer.topics
    ]


def broker_ids(admin: KafkaAdminClient) -> list[int]:
    """Return the ids of the brokers of the metadata."""
    return sorted(broker.node_id for broker in admin._manager.cluster.brokers())


def fetches_offsets_of_several_groups(admin: KafkaAdminClient) -> bool:
    """Return whether one request can fetch the offsets of several groups (KIP-709, Kafka 3.0)."""
    return bool(admin._manager.broker_version_data.api_version(OffsetFetchRequest) >= 8)


def from_controller(admin: KafkaAdminClient, request: Callable[[], T]) -> T:
    """Return the result of ``request``, which asks the controller; after an error, the next one looks for it again.

    The client keeps using the controller that it knew, even after that broker was lost. Raises NotControllerError where
    the client gives up because the controller moves.
    """
    try:
        return request()
    except RuntimeError as error:
        forget_controller(admin)
        raise NotControllerError(str(error)) from error
    except KafkaError:
        forget_controller(admin)
        raise


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
