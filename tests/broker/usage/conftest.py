"""Run a broker of the newest Kafka, for share groups (KIP-932), with a user without permissions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import maven_jars
from tests.support.restricted_user import RestrictedCluster, restricted_cluster
from topicwarden.extensions.sandbox.jvm import Jvm
from topicwarden.extensions.sandbox.local_cluster import Sandbox

BROKER = {
    "log.cleaner.backoff.ms": "300",
    "transaction.state.log.num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
}


@pytest.fixture(scope="package")
def newest(java: Path) -> Jvm:
    return Jvm(java, maven_jars.provide("newest"))


@pytest.fixture(scope="package")
def newest_cluster(newest: Jvm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestrictedCluster]:
    sandbox = Sandbox(tmp_path_factory.mktemp("newest") / "sandbox", newest.java, newest.jars)
    with restricted_cluster(sandbox, 1, BROKER) as cluster:
        yield cluster
