"""Fixtures: a cluster of two brokers with undeclared topics, and projects that each have their own Pulumi state."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from tests.support.projects import Shell, empty_stack, own_cache, project_of
from tests.support.sandboxes import running
from tests.support.stack_state import resources_in_state
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain

LONG_MAX = str(2**63 - 1)

UNDECLARED: dict[str, tuple[int, int, dict[str, str]]] = {
    "orders.placed.v1": (12, 2, {"retention.ms": "604800000", "min.insync.replicas": "1", "cleanup.policy": "delete"}),
    "orders.paid.v1": (12, 2, {"retention.ms": "604800000", "min.insync.replicas": "1"}),
    "orders.shipped.v1": (12, 2, {"retention.ms": "604800000", "min.insync.replicas": "1"}),
    "orders.returned.v1": (3, 1, {"retention.ms": "-1", "min.insync.replicas": "1"}),
    "orders.lost.v1": (12, 2, {}),
    "payments.settled.v2": (6, 2, {"cleanup.policy": "compact,delete", "retention.ms": "86400001"}),
    "payments.refused.v2": (6, 2, {"cleanup.policy": "delete,compact", "retention.bytes": "-1"}),
    "payments.fees.v2": (6, 2, {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}),
    "customers": (3, 2, {"cleanup.policy": "compact", "segment.ms": "100", "delete.retention.ms": "100"}),
    "customers_addresses": (3, 2, {"cleanup.policy": "compact"}),
    "flights-raw": (4, 2, {"compression.type": "zstd", "compression.zstd.level": "-5"}),
    "flights-clean": (4, 2, {"compression.type": "lz4", "compression.lz4.level": "1", "preallocate": "true"}),
    "kept": (1, 2, {"cleanup.policy": ""}),
    "plain": (1, 2, {}),
    "ratio": (1, 2, {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1E-4"}),
    "whole.ratio": (1, 2, {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1"}),
    "longest": (
        2,
        2,
        {"flush.messages": LONG_MAX, "max.compaction.lag.ms": LONG_MAX, "flush.ms": "9223372036854775806"},
    ),
    "spaced": (1, 2, {"cleanup.policy": "compact, delete", "preallocate": "TRUE", "retention.ms": " 5000"}),
    "sizes": (1, 2, {"max.message.bytes": "1000000", "segment.bytes": "1073741824", "retention.bytes": "3221225472"}),
    "stamped": (1, 2, {"message.timestamp.type": "LogAppendTime", "message.timestamp.after.max.ms": "3600000"}),
    "_schemas": (1, 2, {"cleanup.policy": "compact"}),
    "UPPER.Case": (1, 1, {"unclean.leader.election.enable": "true"}),
    "one-broker_only.v1": (2, 1, {"min.insync.replicas": "1"}),
    "t": (1, 2, {"index.interval.bytes": "8192", "segment.jitter.ms": "60000"}),
}
"""Partitions, replication factor and configuration of each topic, as set at creation."""


@pytest.fixture(scope="package")
def base(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_cache(tmp_path_factory.mktemp("adopt"), warm=True) as folder:
        yield folder
        # Kill provider plugins that started just as their engine was killed.
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (process / "cmdline").read_bytes().startswith(bytes(folder)):
                    os.kill(int(process.name), signal.SIGKILL)


@pytest.fixture(scope="package")
def sandbox(base: Path) -> Iterator[Sandbox]:
    sandbox = sandbox_of(project_of(base / "first", {}))
    with running(sandbox, brokers=2):
        create(sandbox.bootstrap_servers, UNDECLARED)
        yield sandbox


@pytest.fixture(scope="package")
def cluster(base: Path, sandbox: Sandbox) -> Iterator[Cluster]:
    with open_cluster(connect_to(Project(base / "first"), "dev")) as cluster:
        yield cluster


@pytest.fixture
def shell(sandbox: Sandbox, tmp_path: Path) -> Callable[..., Shell]:
    """Return a function that creates a project on the cluster with an empty stack ``dev``.

    The function takes the project's files and the name of its folder.
    """

    def made(files: dict[str, str] | None = None, name: str = "project") -> Shell:
        project = project_of(tmp_path / name, files or {})
        return empty_stack(project, tmp_path / f"{name}-state")

    return made


def create(servers: list[str], topics: dict[str, tuple[int, int, dict[str, str]]]) -> None:
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics(
        [NewTopic(name, count, replicas, topic_configs=config) for name, (count, replicas, config) in topics.items()],
        timeout_ms=30_000,
    )
    admin.close()


Made = Callable[..., Shell]


def settings(cluster: Cluster) -> dict[str, Any]:
    """Return every setting of every topic with its source, and all replicas."""
    current = cluster.snapshot().topics
    return {
        name: (one.id, one.topic, dict(one.sources), [each.replicas for each in one.replicas])
        for name, one in current.items()
    }


def adopted(shell: Shell) -> set[str]:
    return {one["inputs"]["name"] for one in resources_in_state(shell) if one["type"] == "kafka:index/topic:Topic"}
