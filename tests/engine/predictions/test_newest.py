"""Test features of brokers on Kafka 4.3: share groups (KIP-932), and tiered storage (KIP-405) in a local folder."""

from __future__ import annotations

import time
from collections.abc import Iterator
from os import urandom
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.protocol.consumer import OffsetSpec

from tests.engine.predictions.conftest import Deployment, one
from tests.support import maven_jars
from tests.support.applications.share_consumer import share_consumer
from tests.support.clients import commit, until
from tests.support.projects import empty_stack, project_of
from tests.support.sandboxes import running
from topicwarden.extensions.sandbox.jvm import Jvm
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.model.planned_change import Severity
from topicwarden.model.project import Project

DAY = 86_400_000
_TIERED = {
    "remote.log.storage.system.enable": "true",
    "remote.log.storage.manager.class.name": "org.apache.kafka.server.log.remote.storage.LocalTieredStorage",
    "remote.log.metadata.manager.listener.name": "PLAINTEXT",
    "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
    "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
    "remote.log.manager.task.interval.ms": "500",
    "log.retention.check.interval.ms": "500",
    "log.initial.task.delay.ms": "500",
}
_SHARE = {
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
}
_OFFLOADED = "remote.storage.enable: true, segment.bytes: 1MiB, local.retention.bytes: 1MiB, retention.ms: {}"


@pytest.fixture(scope="module")
def newest(java: Path) -> Jvm:
    return Jvm(java, maven_jars.provide("newest"))


@pytest.fixture(scope="module")
def sandbox(cache: Path, newest: Jvm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    folder = tmp_path_factory.mktemp("newest")
    sandbox = Sandbox(folder / "sandbox", newest.java, newest.jars)
    remote = {"rsm.config.dir": str(folder / "remote"), "rsm.config.delete.on.close": "false"}
    with running(sandbox, brokers=1, overrides=_TIERED | _SHARE | remote, heap="384m"):
        yield sandbox


@pytest.fixture
def servers(sandbox: Sandbox) -> list[str]:
    return sandbox.bootstrap_servers


def settings(servers: list[str]) -> str:
    return f"config: {{'kafka:bootstrapServers': [{', '.join(servers)}], 'kafka:tlsEnabled': false}}\n"


@pytest.fixture
def cluster(servers: list[str], tmp_path: Path) -> Iterator[Cluster]:
    with open_cluster(connect_to(project_of(tmp_path / "looking", {}, settings(servers)), "dev")) as cluster:
        yield cluster


def deployed(project: Project, folder: Path) -> Deployment:
    done = Deployment(project, empty_stack(project, folder / "state"))
    done.up()
    return done


def topic(config: str, more: str = "") -> str:
    return f"{{owner: team, partitions: 1, replication_factor: 1, config: {{{config}}}{more}}}\n"


def test_unread_records_of_a_share_group_are_an_upper_bound(
    newest: Jvm, servers: list[str], cluster: Cluster, tmp_path: Path
) -> None:
    file = "shared/shared.v1.yaml"
    files = {file: topic("retention.ms: 30d"), "shared/other.v1.yaml": topic("retention.ms: 30d")}
    project = deployed(project_of(tmp_path / "share", files, settings(servers)), tmp_path)
    with writing(servers) as writer:
        for number in range(10):
            writer.send("shared.v1", f"k{number}", "v", int(time.time() * 1000) - 3 * DAY)
    read = share_consumer(newest, servers, "shared.v1", "sharing", records=4, folder=tmp_path)
    assert read.returncode == 0, read.stdout + read.stderr
    commit(servers, "ordinary", {("shared.v1", 0): 7})
    until(lambda: any(g.offsets for g in cluster.groups(["shared.v1"]) if g.share), "the share group has an offset")
    groups = {group.name: group for group in cluster.groups(["shared.v1", "other.v1"])}
    assert groups["sharing"].share
    (begin,) = groups["sharing"].offsets.values()
    assert 0 <= begin <= 10
    project.write({file: topic("retention.ms: 1d")})
    cut = one(project.plan(), "shared.v1", "retention-cut")
    assert {(one.group, one.records) for one in cut.groups} == {("ordinary", 3), ("sharing", 10 - begin)} - {
        ("sharing", 0)
    }
    assert not any("no broker reports" in reason for reason in cut.because)
    assert any(f"sharing (share group, at most {10 - begin} records)" in reason for reason in cut.because)


def starts(servers: list[str], topic: str) -> tuple[int, int, int]:
    """Return the log start offset, the local log start offset, and the log end offset."""
    topic_partition = TopicPartition(topic, 0)
    with KafkaAdminClient(bootstrap_servers=servers) as admin:
        found = [
            admin.list_partition_offsets({topic_partition: spec})[topic_partition].offset
            for spec in (OffsetSpec.EARLIEST, OffsetSpec.EARLIEST_LOCAL, OffsetSpec.LATEST)
        ]
    return found[0], found[1], found[2]


def fill(servers: list[str], topic: str, days: int) -> None:
    with writing(servers) as writer:
        for number in range(60):
            writer.send(topic, f"k{number}", urandom(60_000).hex(), int(time.time() * 1000) - days * DAY)
    # A segment has 8 of these records. `local.retention.bytes` keeps offsets 48 to 59. All older segments are then in
    # remote storage only.
    until(lambda: starts(servers, topic)[1] >= 48, "segments are in remote storage only")


def test_disabling_tiered_storage_deletes_remote_only_records(servers: list[str], tmp_path: Path) -> None:
    file, name = "tiered/off.v1.yaml", "off.v1"
    files = {file: topic(_OFFLOADED.format("-1"))}
    project = deployed(project_of(tmp_path / "off", files, settings(servers)), tmp_path)
    fill(servers, name, days=0)
    off = "remote.storage.enable: false, remote.log.delete.on.disable: true, segment.bytes: 1MiB, retention.ms: -1"
    project.write({file: topic(off)})
    refused = one(project.plan(), name, "tiered-storage-off")
    begin, local, end = starts(servers, name)
    assert refused.severity is Severity.REFUSED
    assert refused.evidence["records"] == local - begin > 20
    assert "only in remote storage" in project.refused("up --yes --skip-preview")
    project.write({file: topic(off, ", allow: [shrink-retention]")})
    project.up()
    until(lambda: starts(servers, name)[0] > begin, "the remote segments are deleted")
    assert starts(servers, name)[0] - begin <= refused.evidence["records"]
    assert starts(servers, name)[2] == end


@pytest.mark.nightly("The suite keeps tiered storage that is turned off.")
def test_a_cut_of_a_tiered_topic_counts_what_is_in_remote_storage(servers: list[str], tmp_path: Path) -> None:
    file, name = "tiered/cut.v1.yaml", "cut.v1"
    files = {file: topic(_OFFLOADED.format("30d"))}
    project = deployed(project_of(tmp_path / "cut", files, settings(servers)), tmp_path)
    fill(servers, name, days=3)
    project.write({file: topic(_OFFLOADED.format("1d"))})
    cut = one(project.plan(), name, "retention-cut")
    assert cut.severity is Severity.REFUSED
    assert cut.evidence["records"] == 60
    project.write({file: topic(_OFFLOADED.format("1d"), ", allow: [shrink-retention]")})
    project.up()
    until(lambda: starts(servers, name)[0] > 20, "remote segments expire")
