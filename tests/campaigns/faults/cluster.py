"""A cluster of three brokers whose clients reach them only through a ``ByteProxy``."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.byte_proxy import HOST, ByteProxy, byte_proxy
from tests.support.clients import until
from tests.support.projects import own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.extensions.sandbox import ports
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.write.reassignment_admin import ReassignmentSession, open_reassignment_session

BROKERS = (1, 2, 3)
_DISK_MIB = 64
_PROXIED = 500
"""The distance from a broker's port to the port of its listener for the proxy."""


@dataclass(frozen=True)
class FaultyCluster:
    """The brokers, the proxy in front of them, and a folder for projects."""

    sandbox: Sandbox
    proxy: ByteProxy
    servers: tuple[str, ...]
    """The addresses of the proxy, which the brokers also advertise to clients that come through it."""
    folder: Path
    disk: Path
    """The folder for projects and Pulumi's states. For a root user, it is a file system of ``_DISK_MIB``."""

    @property
    def can_fill_disk(self) -> bool:
        return self.disk.is_mount()

    @property
    def direct(self) -> list[str]:
        """The addresses of the brokers themselves."""
        return self.sandbox.bootstrap_servers

    @contextmanager
    def session(self) -> Iterator[ReassignmentSession]:
        with open_reassignment_session(Connection(tuple(self.direct), tls=False)) as session:
            yield session

    def controller(self) -> int:
        """Return the active controller, as DescribeQuorum names it."""
        with connected(self.direct) as admin:
            quorum = admin.describe_metadata_quorum()
        return int(quorum["topics"][0]["partitions"][0]["leader_id"])

    def pid_of(self, broker: int) -> int:
        pid = next(each.pid for each in self.sandbox.status().brokers if each.id == broker)
        assert pid is not None
        return pid

    def repair(self, frozen: Sequence[int] = ()) -> None:
        """End every fault, and wait until all replicas are in sync again."""
        self.proxy.heal()
        for pid in frozen:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        for broker in BROKERS:
            self.sandbox.start(broker)
        until(self._complete, "all brokers and replicas are back", 180)

    def _complete(self) -> bool:
        status = self.sandbox.status().brokers
        if not all(broker.in_cluster for broker in status):
            return False
        with self.session() as session:
            snapshot = session.cluster.snapshot()
        replicas = [state for live in snapshot.topics.values() for state in live.replicas]
        return len(snapshot.racks) == len(BROKERS) and all(
            state.leader is not None and len(state.in_sync) == len(state.replicas) for state in replicas
        )


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    """Mount a small file system at ``folder`` if this user may, and yield the folder."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_MIB}m", "tmpfs", str(folder)]
    mounted = os.geteuid() == 0 and subprocess.run(mount, check=False).returncode == 0
    try:
        yield folder
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def faulty_cluster(folder: Path, *, warm: bool = False) -> Iterator[FaultyCluster]:
    """Run the cluster, and yield it. With ``warm``, Pulumi's programs start as in ``own_cache``."""
    with own_cache(folder, warm=warm), _small_disk(folder / "disk") as disk, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PULUMI_CONFIG_PASSPHRASE", "faults")
        temporary = folder / "temporary"
        temporary.mkdir()
        patch.setenv("TMPDIR", str(temporary))
        sandbox = sandbox_of(project_of(folder / "sandbox", {}))
        # Other clusters on this machine would take the default ports while our brokers are down.
        with running(sandbox, len(BROKERS), heap="384m", port=random.randrange(24_000, 29_000, 10)):
            addresses = [int(address.rpartition(":")[2]) for address in sandbox.bootstrap_servers]
            used: list[int] = []
            for port in addresses:
                used.append(ports.free_port(port + _PROXIED, used))
                used.append(ports.free_port(port + 2 * _PROXIED, used))
            inner, outer = used[::2], used[1::2]
            for broker, port, listener, advertised in zip(BROKERS, addresses, inner, outer, strict=True):
                _add_listener(sandbox.log_dir(broker).parent, port, listener, advertised)
            for broker in BROKERS:
                sandbox.stop(broker)
                sandbox.start(broker)
            with byte_proxy(dict(zip(outer, inner, strict=True))) as proxy:
                yield FaultyCluster(sandbox, proxy, tuple(f"{HOST}:{port}" for port in outer), folder, disk)


def _add_listener(broker: Path, port: int, listener: int, advertised: int) -> None:
    """Add a listener that leads through the proxy; the brokers themselves go on to use the other one."""
    properties = broker / "server.properties"
    text = properties.read_text(encoding="ascii")
    (listeners,) = (line.removeprefix("listeners=") for line in text.splitlines() if line.startswith("listeners="))
    protocols = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:PLAINTEXT"
    properties.write_text(
        f"{text}listeners={listeners},PROXIED://{HOST}:{listener}\n"
        f"advertised.listeners=PLAINTEXT://{HOST}:{port},PROXIED://{HOST}:{advertised}\n"
        f"listener.security.protocol.map={protocols}\ninter.broker.listener.name=PLAINTEXT\n",
        encoding="ascii",
    )
