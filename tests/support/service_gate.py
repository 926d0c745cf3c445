"""A stand-in for managed and compatible Kafka services: a proxy that answers as they do, in front of real brokers.

It speaks Kafka's protocol. Requests that the service does not have are left out of ApiVersions, and cut the connection.
Answers about the cluster, its topics and their settings are rewritten. Everything else is real: the brokers behind it
store records, and answer fetches and commits.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from kafka.protocol.admin import DescribeClusterResponse, DescribeConfigsResponse
from kafka.protocol.metadata import ApiVersionsResponse, FindCoordinatorResponse, MetadataResponse

TOPIC, BROKER = 2, 4
"""Types of resources in DescribeConfigs."""
ON_TOPIC, DEFAULT = 1, 5
"""Sources of settings in DescribeConfigs: DYNAMIC_TOPIC_CONFIG and DEFAULT_CONFIG."""
DENIED: Final = 31
"""Kafka's error CLUSTER_AUTHORIZATION_FAILED."""

_REWRITTEN: Final[Mapping[int, Any]] = {
    3: MetadataResponse,
    10: FindCoordinatorResponse,
    18: ApiVersionsResponse,
    32: DescribeConfigsResponse,
    60: DescribeClusterResponse,
}
_API_VERSIONS: Final = 18

Entries = list[Any]


@dataclass(frozen=True)
class Service:
    """The answers of a service that differ from those of its brokers.

    ``lacks``: the numbers of the requests that it does not have. ``latest``: the latest version of other requests, by
    number. ``topic_settings`` gets the settings of a topic in DescribeConfigs and returns them as the service does.
    ``hides_brokers``: nobody may see the brokers' settings. ``replicas``: the replication factor of every topic.
    """

    cluster_id: str | None = None
    lacks: frozenset[int] = frozenset()
    latest: Mapping[int, int] = field(default_factory=dict)
    topic_settings: Callable[[Entries], Entries] = list
    hides_brokers: bool = False
    replicas: int | None = None


def entry(name: str, value: str, source: int) -> Any:
    """Return a setting for an answer to DescribeConfigs."""
    result = DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult
    return result(name=name, value=value, config_source=source, read_only=False, is_sensitive=False, synonyms=[])


@contextmanager
def service_gate(brokers: Sequence[str], service: Service) -> Iterator[list[str]]:
    """Run one proxy for each of ``brokers``, and yield the addresses of the proxies, in this order."""
    with ExitStack() as stack:
        listeners = {broker: stack.enter_context(socket.create_server(("127.0.0.1", 0))) for broker in brokers}
        ports = {int(broker.rpartition(":")[2]): each.getsockname()[1] for broker, each in listeners.items()}
        for broker, listener in listeners.items():
            threading.Thread(target=_accept, args=(listener, broker, service, ports), daemon=True).start()
        yield [f"127.0.0.1:{listener.getsockname()[1]}" for listener in listeners.values()]


def _accept(listener: socket.socket, broker: str, service: Service, ports: Mapping[int, int]) -> None:
    with suppress(OSError):  # the end of the test closes the listener
        while True:
            client, _ = listener.accept()
            host, _, port = broker.rpartition(":")
            upstream = socket.create_connection((host, int(port)))
            _Exchange(client, upstream, service, ports).start()


class _Exchange:
    """One connection of a client, and its connection to the broker."""

    def __init__(
        self, client: socket.socket, upstream: socket.socket, service: Service, ports: Mapping[int, int]
    ) -> None:
        self._client, self._upstream, self._service, self._ports = client, upstream, service, ports
        self._requests: dict[int, tuple[int, int]] = {}

    def start(self) -> None:
        for work in (self._requests_to_broker, self._answers_to_client):
            threading.Thread(target=self._run, args=(work,), daemon=True).start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            with suppress(OSError, EOFError):
                work()
        finally:
            for end in (self._client, self._upstream):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()

    def _requests_to_broker(self) -> None:
        while True:
            frame = _frame(self._client)
            number, version, correlation = struct.unpack_from(">hhi", frame)
            if number in self._service.lacks:
                raise EOFError(f"the service has no request {number}")
            self._requests[correlation] = number, version
            self._upstream.sendall(struct.pack(">i", len(frame)) + frame)

    def _answers_to_client(self) -> None:
        while True:
            frame = _frame(self._upstream)
            (correlation,) = struct.unpack_from(">i", frame)
            number, version = self._requests.pop(correlation)
            if number in _REWRITTEN:
                frame = self._rewritten(number, version, frame)
            self._client.sendall(struct.pack(">i", len(frame)) + frame)

    def _rewritten(self, number: int, version: int, frame: bytes) -> bytes:
        kind = _REWRITTEN[number]
        if number == _API_VERSIONS and struct.unpack_from(">h", frame, 4)[0]:
            return frame  # the broker refuses the version, and the client asks again with another one
        flexible = kind.flexible_version_q(version) and number != _API_VERSIONS
        header = 5 if flexible else 4  # the correlation id, and no tagged fields
        answer = kind.decode(frame[header:], version=version)
        answer._header = None  # kafka-python only sets it for messages that it makes itself
        {
            3: self._metadata,
            10: self._coordinator,
            18: self._api_versions,
            32: self._configs,
            60: self._cluster,
        }[number](answer)
        return frame[:header] + bytes(answer.encode(version=version))

    def _api_versions(self, answer: Any) -> None:
        latest = {number: kind.max_version for number, kind in _REWRITTEN.items()} | dict(self._service.latest)
        answer.api_keys = [each for each in answer.api_keys if each.api_key not in self._service.lacks]
        for each in answer.api_keys:
            each.max_version = min(each.max_version, latest.get(each.api_key, each.max_version))

    def _metadata(self, answer: Any) -> None:
        self._cluster(answer)
        for topic in answer.topics if self._service.replicas else ():
            for partition in topic.partitions:
                missing = (self._service.replicas or 0) - len(partition.replica_nodes)
                partition.replica_nodes = [*partition.replica_nodes, *partition.replica_nodes[:1] * missing]

    def _cluster(self, answer: Any) -> None:
        answer.cluster_id = self._service.cluster_id or answer.cluster_id
        self._redirect(answer.brokers)

    def _coordinator(self, answer: Any) -> None:
        self._redirect([*(answer.coordinators or ()), answer])

    def _redirect(self, brokers: Sequence[Any]) -> None:
        """Lead the client to the proxies, as the service would advertise its own addresses."""
        for broker in brokers:
            if broker.port in self._ports:
                broker.host, broker.port = "127.0.0.1", self._ports[broker.port]

    def _configs(self, answer: Any) -> None:
        for result in answer.results:
            if result.resource_type == TOPIC:
                result.configs = self._service.topic_settings(list(result.configs))
            elif result.resource_type == BROKER and self._service.hides_brokers:
                result.error_code, result.configs = DENIED, []


def _frame(source: socket.socket) -> bytes:
    (size,) = struct.unpack(">i", _received(source, 4))
    return _received(source, size)


def _received(source: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        part = source.recv(min(1 << 20, size - len(received)))
        if not part:
            raise EOFError
        received += part
    return bytes(received)
