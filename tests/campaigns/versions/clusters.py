"""Run three brokers of any Kafka version in the catalogue, on KRaft or on ZooKeeper, with jars from Maven."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.conftest import REPOSITORY
from tests.support import maven_jars
from tests.support.sandboxes import running
from topicwarden.extensions.sandbox.broker import spawn
from topicwarden.extensions.sandbox.broker_fleet import BrokerFleet
from topicwarden.extensions.sandbox.jvm import Jvm
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.ports import assign, free_port
from topicwarden.extensions.sandbox.sandbox_state import HOST, BrokerPorts, SandboxState, port_lock
from topicwarden.kafka_facts.configs import kafka_lines, kafka_version

BROKERS: Final = 3
_HEAP: Final = "384m"
_QUICK: Final = {"log.retention.check.interval.ms": "1000", "log.initial.task.delay.ms": "500"}


@dataclass(frozen=True)
class KafkaVersion:
    """A line of Kafka, such as ``3.9``, and whether ZooKeeper has its metadata."""

    line: str
    zookeeper: bool = False

    @property
    def release(self) -> str:
        return kafka_version(self.line)

    def __str__(self) -> str:
        return f"{self.release}, ZooKeeper" if self.zookeeper else self.release


@dataclass(frozen=True)
class RunningCluster:
    """The addresses of running brokers, their Java, and the sandbox that they are; None with ZooKeeper."""

    version: KafkaVersion
    servers: list[str]
    java: Path
    sandbox: Sandbox | None = None


VERSIONS: Final = (KafkaVersion("3.9", zookeeper=True), *map(KafkaVersion, kafka_lines()))
"""Every version that is tested, oldest first. ZooKeeper ended with 3.9."""


def jars_of(version: KafkaVersion) -> Path:
    """Return the folder with the jars of ``version``; download them if they are missing."""
    template = REPOSITORY / "tests/support/maven/version/pom.xml"
    name = f"kafka-{version.release}"
    pom = REPOSITORY / ".cache" / "poms" / name / "pom.xml"
    pom.parent.mkdir(parents=True, exist_ok=True)
    pom.write_text(template.read_text(encoding="utf-8").replace("VERSION", version.release), encoding="utf-8")
    return maven_jars.provide(name, pom.parents[1])


@contextmanager
def running_cluster(version: KafkaVersion, java: Path, folder: Path) -> Iterator[RunningCluster]:
    """Run the brokers of ``version``, with their files in ``folder``."""
    jvm = Jvm(java, jars_of(version))
    if version.zookeeper:
        with zookeeper_cluster(jvm, folder) as servers:
            yield RunningCluster(version, servers, java)
    else:
        with running(Sandbox(folder / "sandbox", jvm.java, jvm.jars), BROKERS, _QUICK, _HEAP) as sandbox:
            yield RunningCluster(version, sandbox.bootstrap_servers, java, sandbox)


@contextmanager
def zookeeper_cluster(
    jvm: Jvm,
    folder: Path,
    brokers: int = BROKERS,
    properties: Callable[[BrokerPorts], Mapping[str, str]] = lambda _: {},
) -> Iterator[list[str]]:
    """Run ZooKeeper and this number of brokers; ``properties`` are more properties of each. Yield the addresses."""
    fleet = BrokerFleet(folder, jvm)
    console, pid_file = folder / "zookeeper.log", folder / "zookeeper.pid"
    with port_lock(print):
        state = SandboxState(
            directory=str(folder), cluster_id="", brokers=assign(brokers, None), heap=_HEAP, overrides={}
        )
        port = free_port(max(ports.controller_port or 0 for ports in state.brokers) + 1)
        settings = {"dataDir": folder / "zookeeper", "clientPort": port, "clientPortAddress": HOST}
        _write(folder / "zookeeper.properties", {**settings, "admin.enableServer": "false"})
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        zookeeper = spawn(jvm.tool(main, str(folder / "zookeeper.properties")), console, pid_file)
        try:
            for ports in state.brokers:
                broker = fleet.broker(ports)
                broker.directory.mkdir()
                _write(broker.properties, {**_zookeeper_properties(ports, broker.data, port), **properties(ports)})
            fleet.start(state, state.brokers, print)
            fleet.join(state, [ports.id for ports in state.brokers], print)
        except BaseException:
            fleet.end([fleet.broker(ports) for ports in state.brokers], 0, signal.SIGKILL)
            zookeeper.send(signal.SIGKILL)
            raise
    try:
        yield state.addresses
    finally:
        fleet.end([fleet.broker(ports) for ports in state.brokers], 20, signal.SIGKILL)
        zookeeper.send(signal.SIGKILL)


def _zookeeper_properties(ports: BrokerPorts, data: Path, zookeeper: int) -> dict[str, object]:
    return {
        "broker.id": ports.id,
        "broker.rack": f"rack-{ports.id}",
        "zookeeper.connect": f"{HOST}:{zookeeper}",
        "zookeeper.connection.timeout.ms": 60_000,
        "listeners": f"PLAINTEXT://{ports.address}",
        "log.dirs": data,
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": 5,
        "transaction.state.log.num.partitions": 5,
        "transaction.state.log.min.isr": 2,
        "group.initial.rebalance.delay.ms": 0,
        **_QUICK,
    }


def _write(path: Path, settings: Mapping[str, object]) -> None:
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="ascii")
