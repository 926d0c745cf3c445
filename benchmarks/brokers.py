"""Start brokers for a benchmark, create its topics, and install Spark's own Kafka source for comparison."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from topicwarden.audit.scan import reader_jars
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.model.project import Project, find_project
from topicwarden.toolchain import jar_lock, toolchain


@contextmanager
def started(folder: Path, brokers: int = 1, heap: str = "1g", *, authorizer: bool = False) -> Iterator[Sandbox]:
    """Run brokers with their data in ``folder``, and remove them at the end."""
    tools = toolchain(find_project())
    sandbox = Sandbox(folder, tools.java, tools.kafka_jars)
    try:
        sandbox.up(brokers=brokers, heap=heap, authorizer=authorizer)
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


def use_spark_kafka(project: Project) -> None:
    """Add Spark's Kafka source to the next Spark session of this process, in addition to the Spark reader."""
    folder = project.cache / "jars" / "spark-kafka"
    if not folder.is_dir():
        partial = folder.with_name(".spark-kafka.partial")
        jar_lock.copy(Path(__file__).with_name("spark-kafka"), partial)
        partial.rename(folder)
    every = [*reader_jars.jars(project), *sorted(folder.glob("*.jar"))]
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--jars {','.join(map(str, every))} pyspark-shell"
