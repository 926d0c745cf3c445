"""Run a Kafka Connect worker, which creates its three topics, and a connector that reads a file."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

from kafka import TopicPartition
from kafka.protocol.consumer import OffsetSpec

from tests.support.applications.java_application import JavaApplication
from topicwarden.extensions.sandbox import ports
from topicwarden.kafka.connect.clients import connected

GROUP = "connect-cluster"
CONFIGS, OFFSETS, STATUS = "connect-configs", "connect-offsets", "connect-status"
LINES = "file.lines"
"""The topic that the connector writes to."""

_MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"
_ANSWER_S = 30


@contextmanager
def reading_a_file(
    servers: Sequence[str],
    application: JavaApplication,
    client_servers: Sequence[str] = (),
    more: Mapping[str, str] = MappingProxyType({}),
    connectors: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> Iterator[None]:
    """Run a worker during the block; the block starts when the connector has written ten lines.

    The worker connects to ``client_servers`` (by default ``servers``), and has ``more`` settings and ``connectors``.
    """
    application.folder.mkdir(parents=True, exist_ok=True)
    lines = application.folder / "lines.txt"
    lines.write_text("".join(f"line {number}\n" for number in range(10)), encoding="utf-8")
    url = f"http://127.0.0.1:{ports.free_port(ports.BROKERS_FROM + 300)}"
    converter = "org.apache.kafka.connect.storage.StringConverter"
    settings = {
        "bootstrap.servers": ",".join(client_servers or servers),
        "group.id": GROUP,
        "listeners": url,
        "config.storage.topic": CONFIGS,
        "offset.storage.topic": OFFSETS,
        "status.storage.topic": STATUS,
        "config.storage.replication.factor": "-1",  # use the broker's default.replication.factor
        "offset.storage.replication.factor": "-1",
        "status.storage.replication.factor": "-1",
        "offset.storage.partitions": "5",
        "offset.flush.interval.ms": "500",
        "key.converter": converter,
        "value.converter": converter,
        "plugin.discovery": "service_load",
    } | dict(more)
    properties = application.settings_file(settings)
    connector = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "tasks.max": "1",
        "file": str(lines),
        "topic": LINES,
        "topic.creation.default.replication.factor": "-1",
        "topic.creation.default.partitions": "1",
    }
    created = {"file": connector, **connectors}
    with application.running(
        _MAIN,
        properties,
        ready=lambda: all(_created(url, name, each) for name, each in created.items()) and _written(servers),
    ):
        yield


def _created(url: str, name: str, connector: Mapping[str, str]) -> bool:
    """Return whether the worker accepted the connector, or already has it."""
    headers = {"Content-Type": "application/json"}
    body = json.dumps(connector).encode()
    request = urllib.request.Request(f"{url}/connectors/{name}/config", body, headers, method="PUT")
    try:
        with urllib.request.urlopen(request, timeout=_ANSWER_S) as answer:
            return int(answer.status) in (200, 201)
    except (urllib.error.URLError, OSError):
        return False


def _written(servers: Sequence[str]) -> bool:
    """Return whether the connector wrote lines and its file offset."""
    with connected(servers) as admin:
        names = {LINES, OFFSETS}
        topic_partitions = {
            TopicPartition(topic["name"], state["partition_index"]): OffsetSpec.LATEST
            for topic in admin.describe_topics()
            if topic["name"] in names
            for state in topic["partitions"]
        }
        ends = admin.list_partition_offsets(topic_partitions) if topic_partitions else {}
    return all(
        sum(at.offset for topic_partition, at in ends.items() if topic_partition.topic == name) > 0 for name in names
    )
