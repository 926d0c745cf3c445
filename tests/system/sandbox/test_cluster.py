"""Test the sandbox with real brokers, which run as child processes of this test."""

from __future__ import annotations

import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from kafka import KafkaProducer
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    KafkaAdminClient,
    NewTopic,
    ResourcePattern,
    ResourceType,
)

from tests.support.clients import until
from topicwarden.extensions.sandbox.broker import (
    BrokerCondition,
    BrokerProcess,
    _from_proc,
    _from_ps,
    failure_line,
    start_time,
)
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.sandbox_state import lock
from topicwarden.extensions.sandbox.scenarios.compaction import cleaner_checkpoint, segments
from topicwarden.extensions.sandbox.server_properties import HEADER
from topicwarden.kafka.connect.stack_connection import sandbox_servers
from topicwarden.kafka.write.access_admin import Credential, Password, wait_for_credentials, write_credentials
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project


@pytest.fixture
def sandbox(tmp_path: Path, java: Path, jars: Path) -> Iterator[Sandbox]:
    sandbox = Sandbox(tmp_path / "sandbox", java, jars)
    yield sandbox
    sandbox.down(remove=True)


def processes_below(folder: Path) -> list[str]:
    listing = subprocess.run(["ps", "-eo", "pid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if str(folder) in line and "kafka.Kafka" in line]


def test_a_sandbox_of_one_broker_keeps_its_data(sandbox: Sandbox, tmp_path: Path) -> None:
    first = sandbox.up(brokers=1, overrides={"log.cleaner.backoff.ms": "200"})
    again = sandbox.up()
    assert first.ready
    assert [broker.pid for broker in again.brokers] == [broker.pid for broker in first.brokers]
    assert sandbox.bootstrap_servers == first.bootstrap_servers
    assert (tmp_path / "sandbox" / "bootstrap-servers").read_text().split() == first.bootstrap_servers

    with KafkaAdminClient(bootstrap_servers=sandbox.bootstrap_servers) as admin:
        eager = {"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0.01"}
        admin.create_topics([NewTopic(name="kept.v1", num_partitions=1, replication_factor=1, topic_configs=eager)])
    producer = KafkaProducer(bootstrap_servers=sandbox.bootstrap_servers)
    for value in (b"1", b"2", b"3"):
        producer.send("kept.v1", key=b"k", value=value).get(timeout=20)
    producer.close()
    log_dir = sandbox.log_dir(1)
    before = segments(log_dir, "kept.v1", 0)
    assert before[-1] > 0
    deadline = time.monotonic() + 20
    while not 0 < cleaner_checkpoint(log_dir).get(("kept.v1", 0), 0) <= 3:
        assert time.monotonic() < deadline, "the cleaner has not been at work"
        time.sleep(0.1)

    with pytest.raises(
        Refusal, match=r"has one broker, not 3: start it as it is with `topicwarden sandbox up`, .*down --remove"
    ):
        sandbox.up(brokers=3)
    with pytest.raises(Refusal, match="no broker 7"):
        sandbox.stop(7)

    sandbox.down()
    assert processes_below(tmp_path) == []
    assert sandbox.status().brokers[0].condition is BrokerCondition.STOPPED
    assert not (tmp_path / "sandbox" / "bootstrap-servers").exists()

    with socket.create_server(("127.0.0.1", first.brokers[0].port)):
        elsewhere = sandbox.up()
    assert elsewhere.ready
    assert elsewhere.brokers[0].port != first.brokers[0].port
    assert segments(log_dir, "kept.v1", 0)[-1] >= before[-1]
    with KafkaAdminClient(bootstrap_servers=sandbox.bootstrap_servers) as admin:
        assert "kept.v1" in admin.list_topics()
    sandbox.down()

    meta = log_dir / "meta.properties"
    ours = meta.read_text()
    meta.write_text(re.sub(r"cluster\.id=.*", "cluster.id=another", ours))
    with pytest.raises(Refusal, match=r"belongs to another cluster \(another\).*down --remove"):
        sandbox.up(brokers=1)
    meta.write_text(ours)

    with pytest.raises(Refusal, match=r"broker-1 died: .*num\.io\.threads.*see .*server\.log"):
        sandbox.up(brokers=1, overrides={"num.io.threads": "0"})


def test_brokers_with_an_authorizer_enforce_acls_for_users_with_a_password(sandbox: Sandbox) -> None:
    sandbox.up(brokers=1, authorizer=True)
    with KafkaAdminClient(bootstrap_servers=sandbox.bootstrap_servers) as admin:
        password = {Credential("billing", "SCRAM-SHA-512"): Password("secret", 4096)}
        assert write_credentials(admin, password) == {}
        assert not wait_for_credentials(admin, password)
        admin.create_topics([NewTopic(name="orders", num_partitions=1, replication_factor=1)])
        consumer = KafkaAdminClient(
            bootstrap_servers=sandbox.user_servers,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="SCRAM-SHA-512",
            sasl_plain_username="billing",
            sasl_plain_password="secret",
        )
        with consumer:
            assert consumer.list_topics() == []
            orders = ResourcePattern(ResourceType.TOPIC, "orders")
            admin.create_acls([ACL("User:billing", "*", ACLOperation.READ, ACLPermissionType.ALLOW, orders)])
            until(lambda: consumer.list_topics() == ["orders"], "the user may read the topic")
    sandbox.down()
    sandbox.up(brokers=1)
    assert sandbox.user_servers

    with pytest.raises(Refusal, match="already run"):
        sandbox.up(brokers=1, authorizer=False)


def test_a_copied_sandbox_stops_and_deletes_only_itself(
    sandbox: Sandbox, tmp_path: Path, java: Path, jars: Path
) -> None:
    (pid,) = (broker.pid for broker in sandbox.up(brokers=1).brokers)
    copied = tmp_path / "copy" / ".cache" / "sandbox"
    shutil.copytree(tmp_path / "sandbox", copied)
    copy = Sandbox(copied, java, jars)
    project = Project(tmp_path / "copy")
    commands: list[Callable[[], object]] = [copy.status, copy.up, lambda: sandbox_servers(project)]
    commands += [partial(change, 1) for change in (copy.stop, copy.kill, copy.start)]
    for command in commands:
        with pytest.raises(Refusal, match=r"is a copy of the sandbox in .*down --remove"):
            command()
    copy.down()
    copy.down(remove=True)
    assert list(copied.iterdir()) == []
    assert [broker.pid for broker in sandbox.status().brokers] == [pid]
    assert sandbox.status().ready


@pytest.mark.nightly("The suite keeps a copied sandbox.")
def test_a_moved_sandbox_waits_for_the_end_of_the_brokers_that_run_from_its_old_folder(
    tmp_path: Path, java: Path, jars: Path
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    pid = Sandbox(before, java, jars).up(brokers=1).brokers[0].pid
    assert pid
    before.rename(after)
    moved = Sandbox(after, java, jars)
    try:
        with pytest.raises(Refusal, match=f"process {pid} still runs broker-1 .*`kill {pid}`"):
            moved.up(brokers=1)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert moved.up(brokers=1).ready
    finally:
        moved.down(remove=True)


def test_a_link_to_another_folder_is_neither_started_nor_deleted(tmp_path: Path, java: Path, jars: Path) -> None:
    others = tmp_path / "others" / "broker-1"
    others.mkdir(parents=True)
    (others / "server.properties").write_text("broker.id=1\n")
    linked = tmp_path / "sandbox"
    linked.symlink_to(others.parent)
    for command in (Sandbox(linked, java, jars).up, lambda: Sandbox(linked, java, jars).down(remove=True)):
        with pytest.raises(Refusal, match=r"is a link to .*remove the link"):
            command()
    linked.unlink()
    linked.mkdir()
    (linked / "broker-1").symlink_to(others)
    with pytest.raises(Refusal, match="broker-1 is not a folder of this sandbox"):
        Sandbox(linked, java, jars).up(brokers=1)
    Sandbox(linked, java, jars).down(remove=True)
    assert (others / "server.properties").is_file()


def test_a_killed_broker_is_reported_and_restarted(sandbox: Sandbox, tmp_path: Path) -> None:
    printed: list[str] = []
    status = sandbox.up(brokers=3, say=printed.append)
    assert [(broker.id, broker.rack) for broker in status.brokers] == [(1, "rack-1"), (2, "rack-2"), (3, "rack-3")]
    assert any("broker 3 has joined" in line for line in printed)

    sandbox.kill(2)
    sandbox.stop(3)
    seen = {broker.id: broker for broker in sandbox.status().brokers}
    assert [seen[id].condition for id in (1, 2, 3)] == [
        BrokerCondition.RUNNING,
        BrokerCondition.KILLED,
        BrokerCondition.STOPPED,
    ]
    assert seen[2].pid is None

    after = sandbox.up(brokers=3)
    assert after.ready
    assert after.brokers[0].pid == status.brokers[0].pid

    sandbox.down(remove=True)
    assert processes_below(tmp_path) == []
    assert list((tmp_path / "sandbox").iterdir()) == []


def test_a_requested_port_in_use_is_refused(sandbox: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Refusal, match=f"port {port} is in use"):
            sandbox.up(brokers=1, port=port)
    assert sandbox.status().brokers == ()


@pytest.mark.parametrize("true_start", [False, True])
def test_the_process_of_another_program_is_not_ended(sandbox: Sandbox, tmp_path: Path, true_start: bool) -> None:
    other = subprocess.Popen(["sleep", "60"])
    start = start_time(other.pid)
    assert start
    folder = tmp_path / "sandbox" / "broker-1"
    folder.mkdir(parents=True)
    (folder / "server.properties").write_text(f"{HEADER}\n")
    noted = BrokerProcess(pid=other.pid, started=start if true_start else "1")
    (folder / "pid").write_text(noted.model_dump_json())
    sandbox.down()
    assert start_time(other.pid) == start
    other.kill()
    other.wait()


def test_an_unreadable_state_is_refused_with_a_remedy(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "sandbox").mkdir()
    (tmp_path / "sandbox" / "state.json").write_text("{")
    for act in (sandbox.status, lambda: sandbox.up(brokers=1), lambda: sandbox.stop(1)):
        with pytest.raises(Refusal, match="topicwarden sandbox down --remove"):
            act()
    printed: list[str] = []
    sandbox.down(remove=True, say=printed.append)
    assert printed[0] == "no broker is running"
    assert sandbox.status().brokers == ()


def test_data_without_a_state_are_not_touched(sandbox: Sandbox, tmp_path: Path) -> None:
    data = tmp_path / "sandbox" / "broker-1" / "data"
    data.mkdir(parents=True)
    (data / "meta.properties").write_text("node.id=1\ncluster.id=another\n")
    (data.parent / "server.properties").write_text(f"{HEADER}\n")
    with pytest.raises(Refusal, match=r"no state\.json.*down --remove"):
        sandbox.up(brokers=1)


def test_a_second_command_waits_with_a_message(sandbox: Sandbox, tmp_path: Path) -> None:
    printed: list[str] = []
    with lock(tmp_path / "sandbox", printed.append):
        second = threading.Thread(target=lambda: sandbox.down(say=printed.append))
        second.start()
        second.join(0.5)
        assert second.is_alive()
    second.join(5)
    assert printed == [f"another command is using {tmp_path / 'sandbox'}: waiting for it", "no broker is running"]


def test_a_java_too_old_or_missing_is_refused(tmp_path: Path, java: Path, jars: Path) -> None:
    old = tmp_path / "java"
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    for path, folder, message in (
        (old, jars, "is Java 11: Kafka needs 17"),
        (tmp_path / "none", jars, "does not run: set JAVA_HOME"),
        (java, tmp_path, "run `topicwarden sandbox install`"),
    ):
        with pytest.raises(Refusal, match=re.escape(message)):
            Sandbox(tmp_path / "sandbox", path, folder).up(brokers=1)


@pytest.mark.parametrize("read", [_from_ps, _from_proc] if Path("/proc/self/stat").exists() else [_from_ps])
def test_a_start_time_is_stable_and_a_zombie_has_none(read: Callable[[int], str | None]) -> None:
    child = subprocess.Popen(["sleep", "60"])
    assert read(child.pid) == read(child.pid) is not None
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert read(child.pid) is None
    child.wait()


@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="ends a thread with a system call of Linux on x86"
)
def test_a_process_whose_first_thread_ended_is_alive() -> None:
    """The other threads still hold its ports."""
    code = "import ctypes, threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n"
    child = subprocess.Popen([sys.executable, "-c", f"{code}ctypes.PyDLL(None).syscall(60, 0)"])  # exit of one thread
    until(lambda: ") Z " in Path(f"/proc/{child.pid}/stat").read_text(), "the first thread has ended", 10)
    assert _from_proc(child.pid) is not None
    child.kill()
    child.wait()
    assert _from_proc(child.pid) is None


def test_the_reported_line_is_the_exception() -> None:
    output = (
        "[2026] INFO x (a)\n[2026] ERROR Exiting (kafka.Kafka$)\njava.io.IOException: no space\n\tat a.b(C.java:1)\n"
    )
    assert failure_line(output) == "java.io.IOException: no space"
