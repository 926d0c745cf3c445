"""Start brokers for a benchmark, and create its topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from topicwarden.model.project import find_project
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.toolchain import toolchain


@contextmanager
def started(folder: Path, brokers: int = 1, heap: str = "1g") -> Iterator[Sandbox]:
    """Run brokers with their data in ``folder``, and remove them at the end."""
    tools = toolchain(find_project())
    sandbox = Sandbox(folder, tools.java, tools.kafka_jars)
    try:
        sandbox.up(brokers=brokers, heap=heap)
        yield sandbox
    finally:
        sandbox.down(remove=True)


def create_topics(
    servers: Iterable[str], names: Iterable[str], partitions: int, config: Mapping[str, str] | None = None
) -> None:
    """Create topics with one replica, one topic with each request: the controller refuses too many partitions."""
    with KafkaAdminClient(bootstrap_servers=list(servers), request_timeout_ms=120_000) as admin:
        for name in names:
            admin.create_topics([NewTopic(name, partitions, 1, topic_configs=dict(config or {}))])
