"""Test parts of the sandbox: how brokers are formatted, and the writer to a topic whose leader applies settings late.

The answers of the broker to the writer are stand-ins: a real one cannot be made to apply a setting late.
"""

from __future__ import annotations

import re
import shlex
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Producer

from tests.support.clients import until
from topicwarden.cli.sandbox import _settled
from topicwarden.extensions.sandbox import broker_fleet
from topicwarden.extensions.sandbox import sandbox_state as states
from topicwarden.extensions.sandbox.broker import BrokerCondition, BrokerProcess, spawn
from topicwarden.extensions.sandbox.broker_fleet import BrokerFleet
from topicwarden.extensions.sandbox.jvm import Jvm
from topicwarden.extensions.sandbox.local_cluster import BrokerStatus, Sandbox, SandboxStatus
from topicwarden.extensions.sandbox.ports import assign
from topicwarden.extensions.sandbox.registry_server import RegistryServer
from topicwarden.extensions.sandbox.sandbox_state import SandboxState
from topicwarden.extensions.sandbox.scenarios import writer as module
from topicwarden.extensions.sandbox.scenarios.writer import Writer, write_once_valid
from topicwarden.model.problem import Refusal
from topicwarden.model.sandbox_folder import STATE_FILE

_META = "#\n#Sat Nov 28 11:16:04 UTC 2026\nnode.id=1\ndirectory.id=tiJAsB3Kvr68IEbv1WUevQ\nversion=1\ncluster.id=c\n"
_TOOL = """\
import re, sys
from pathlib import Path
if sys.argv[-1] == "-version":
    sys.exit()
with Path({runs!r}).open("a") as file:
    file.write("run\\n")
data = Path(re.search("^log.dirs=(.*)$", Path(sys.argv[-1]).read_text(), re.MULTILINE)[1])
data.mkdir()
(data / "bootstrap.checkpoint").write_bytes(bytes(range(256)))
(data / "meta.properties").write_text({meta!r})
"""


def fleet(folder: Path, program: str) -> BrokerFleet:
    """Return brokers whose StorageTool is a Python program."""
    script, java = folder / "tool.py", folder / "java"
    script.write_text(program, encoding="utf-8")
    java.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(script))} "$@"\n', encoding="utf-8"
    )
    java.chmod(0o755)
    (folder / "jars").mkdir(exist_ok=True)
    return BrokerFleet(folder / "sandbox", Jvm(java, folder / "jars"))


def state(folder: Path, brokers: int, cluster_id: str = "c", **overrides: str) -> SandboxState:
    of_brokers = assign(brokers, None)
    return SandboxState(
        directory=str(folder), cluster_id=cluster_id, brokers=of_brokers, heap="512m", overrides=overrides
    )


def test_one_run_of_the_tool_formats_all_brokers(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    brokers, of = fleet(tmp_path, _TOOL.format(runs=str(runs), meta=_META)), state(tmp_path, 3)
    brokers.prepare(of, of.brokers, lambda _: None)
    assert runs.read_text() == "run\n"
    first, *others = (brokers.broker(ports) for ports in of.brokers)
    assert (first.data / "meta.properties").read_text() == _META
    ids = set()
    for ports, broker in zip(of.brokers[1:], others, strict=True):
        assert broker.cluster_id() == "c"
        assert (broker.data / "bootstrap.checkpoint").read_bytes() == bytes(range(256))
        text = (broker.data / "meta.properties").read_text()
        directory_id = re.search(r"^directory\.id=([\w-]{22})$", text, re.MULTILINE)
        assert directory_id is not None
        ids.add(directory_id[1])
        expected = _META.replace("node.id=1", f"node.id={ports.id}")
        assert text == expected.replace("tiJAsB3Kvr68IEbv1WUevQ", directory_id[1])
    assert len(ids - {"tiJAsB3Kvr68IEbv1WUevQ"}) == 2


def test_a_start_without_a_number_takes_the_existing_sandbox_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Jvm, "require", lambda _: None)
    for step in ("prepare", "start", "join"):
        monkeypatch.setattr(BrokerFleet, step, lambda *_: None)
    for brokers in (1, 3):
        sandbox = Sandbox(tmp_path / f"{brokers}", tmp_path / "java", tmp_path)
        if brokers == 1:
            sandbox.up(brokers=1)
        assert len(sandbox.up().brokers) == brokers
        assert len(sandbox.up(brokers=brokers).brokers) == brokers
        remedy = (
            "start it as it is with `topicwarden sandbox up`, or delete it with `topicwarden sandbox down --remove`"
        )
        with pytest.raises(Refusal, match=f"not 2: {remedy}"):
            sandbox.up(brokers=2)


@pytest.mark.parametrize("purpose", ["port", "controller_port", "user_port"])
def test_a_start_on_a_taken_port_names_it_and_the_remedy(
    purpose: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another sandbox may have started meanwhile, and taken the ports of a broker that was killed."""
    monkeypatch.setattr(Jvm, "require", lambda _: None)
    sandbox, of = Sandbox(tmp_path, tmp_path / "java", tmp_path), state(tmp_path, 3)
    of.model_copy(update={"authorizer": True}).save(tmp_path)
    port = getattr(of.brokers[2], purpose)
    remedy = "sandbox down` and then `topicwarden sandbox up`" if purpose == "controller_port" else "run `topicwarden s"
    message = f"broker 3 cannot start: another program uses port {port}; .*{remedy}"
    with socket.create_server(("127.0.0.1", port)):
        with pytest.raises(Refusal, match=message):
            sandbox.start(3)
        with pytest.raises(Refusal, match=message):
            fleet(tmp_path, "").join(of.model_copy(update={"authorizer": True}), [3], lambda _: None)


def test_a_stopped_broker_of_a_running_sandbox_keeps_its_ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, another cluster would answer on a port of the list, and the broker could not start again."""
    monkeypatch.setattr(states, "SANDBOXES", f"{tmp_path.name}-sandboxes.json")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    of = state(tmp_path / "first", 3)
    of.save(tmp_path / "first")
    assert states.other_sandboxes(tmp_path / "first") == ()
    second = Sandbox(tmp_path / "second", tmp_path / "java", tmp_path)
    runs = {1, 2}
    monkeypatch.setattr(BrokerFleet, "runs", lambda _, ports: ports.id in runs)
    taken = {number for ports in of.brokers for number in ports.numbers}
    assert second._ports_of_others() == taken
    assert taken.isdisjoint(number for ports in assign(3, None, reserved=taken) for number in ports.numbers)
    runs.clear()
    assert second._ports_of_others() == frozenset(), "it does not run"
    (tmp_path / "first" / STATE_FILE).unlink()
    assert states.other_sandboxes(tmp_path / "third") == (), "the second was never started, and the first is gone"


def test_the_list_of_brokers_is_read_again_after_one_was_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client may ask the lost broker, which is listed until its session times out."""
    answers: list[set[int]] = [set(), {1, 2}]
    monkeypatch.setattr(broker_fleet, "unfenced_brokers", lambda *_: answers.pop(0))
    monkeypatch.setattr(broker_fleet, "is_free", lambda _: False)
    assert fleet(tmp_path, "").listed(state(tmp_path, 2).brokers) == {1, 2}
    monkeypatch.setattr(broker_fleet, "is_free", lambda _: True)
    assert fleet(tmp_path, "").listed(state(tmp_path, 2).brokers) == set()


def test_a_broker_whose_copy_was_interrupted_is_formatted_again(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    brokers, of = fleet(tmp_path, _TOOL.format(runs=str(runs), meta=_META)), state(tmp_path, 2)
    brokers.prepare(of, of.brokers, lambda _: None)
    second = brokers.broker(of.brokers[1])
    (second.data / "meta.properties").unlink()
    assert second.cluster_id() is None
    second.format_like(brokers.broker(of.brokers[0]), "c", 2, "A" * 22)
    assert second.cluster_id() == "c"
    assert "directory.id=" + "A" * 22 in (second.data / "meta.properties").read_text()


def test_a_later_cluster_with_the_same_jars_is_formatted_without_the_tool(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    brokers, of = fleet(tmp_path, _TOOL.format(runs=str(runs), meta=_META)), state(tmp_path, 1)
    brokers.prepare(of, of.brokers, lambda _: None)
    later = BrokerFleet(tmp_path / "later", brokers.jvm)
    other = state(tmp_path, 1, "other", **{"log.cleaner.enable": "false"})
    later.prepare(other, other.brokers, lambda _: None)
    assert runs.read_text() == "run\n"
    broker = later.broker(other.brokers[0])
    assert broker.cluster_id() == "other"
    assert (broker.data / "bootstrap.checkpoint").read_bytes() == bytes(range(256))
    texts = [(each.data / "meta.properties").read_text() for each in (broker, brokers.broker(of.brokers[0]))]
    first, second = (re.search(r"^directory\.id=(.*)$", text, re.MULTILINE) for text in texts)
    assert first and second and first[1] != second[1]


@pytest.mark.parametrize(
    "override", ["unstable.feature.versions.enable", "metadata.log.dir", "controller.quorum.voters"]
)
def test_settings_that_the_tool_reads_are_formatted_by_the_tool(tmp_path: Path, override: str) -> None:
    runs = tmp_path / "runs"
    for name, overrides in (("a", {override: "x"}), ("b", {}), ("c", {override: "x"})):
        brokers = fleet(tmp_path, _TOOL.format(runs=str(runs), meta=_META))
        of = state(tmp_path, 1, **overrides)
        BrokerFleet(tmp_path / name, brokers.jvm).prepare(of, of.brokers, lambda _: None)
    assert runs.read_text() == "run\n" * 3


def test_jars_that_nobody_may_write_are_formatted_by_the_tool(tmp_path: Path) -> None:
    brokers, of = fleet(tmp_path, _TOOL.format(runs=str(tmp_path / "runs"), meta=_META)), state(tmp_path, 1)
    (tmp_path / "jars" / ".formatted").write_text("no folder")
    brokers.prepare(of, of.brokers, lambda _: None)
    assert brokers.broker(of.brokers[0]).cluster_id() == "c"


def test_a_tool_that_fails_leaves_no_formatted_broker(tmp_path: Path) -> None:
    brokers, of = fleet(tmp_path, "import sys; sys.exit('Error: no room')"), state(tmp_path, 3)
    with pytest.raises(Refusal, match=r"StorageTool could not format broker 1: Error: no room$"):
        brokers.prepare(of, of.brokers, lambda _: None)
    assert [brokers.broker(ports).cluster_id() for ports in of.brokers] == [None] * 3


def test_options_in_variables_do_not_change_which_class_archive_brokers_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``java -version`` prints these options, and the compilers that they choose."""
    java = tmp_path / "java"
    java.write_text('#!/bin/sh\necho "version 17 $JDK_JAVA_OPTIONS $JAVA_TOOL_OPTIONS $_JAVA_OPTIONS"\n')
    java.chmod(0o755)
    (tmp_path / "other").symlink_to(java)
    plain = Jvm(java, tmp_path).class_archive
    for name in ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"):
        monkeypatch.setenv(name, "-XX:TieredStopAtLevel=1")
    assert Jvm(tmp_path / "other", tmp_path).class_archive == plain


def unused_answers(answers: Sequence[int | None], monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Let the broker answer each record with the next error code, None for accepted; return the answers left over."""
    left = list(answers)

    @contextmanager
    def writing(servers: Sequence[str], refusals_expected: bool = False) -> Iterator[Writer]:
        writer = Writer(Producer({"bootstrap.servers": ",".join(servers), "log_level": 0}))
        monkeypatch.setattr(writer, "send", lambda *_, **__: None)
        code = left.pop(0)
        writer.errors.extend(KafkaError(one) for one in (code,) if one is not None)
        yield writer

    monkeypatch.setattr(module, "writing", writing)
    return left


def write() -> None:
    write_once_valid(["127.0.0.1:1"], "shop.customers", None, "{}", partition=0)


def test_a_record_is_sent_again_until_the_leader_applies_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    left = unused_answers([KafkaError.INVALID_RECORD, KafkaError.INVALID_RECORD, None, None], monkeypatch)
    write()
    assert left == [None], "an accepted record is not sent again"


def test_a_record_with_an_unknown_result_is_not_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    left = unused_answers([KafkaError._MSG_TIMED_OUT, None], monkeypatch)
    with pytest.raises(Refusal, match=r"refused a record for shop\.customers"):
        write()
    assert left == [None]


@pytest.fixture
def spawned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[BrokerProcess]]:
    """The processes of the registry in ``tmp_path / "sandbox"``. They only sleep."""
    processes: list[BrokerProcess] = []

    def start(server: RegistryServer, *_: object) -> None:
        command = [sys.executable, "-c", "import time; time.sleep(60)", str(server._folder)]
        processes.append(spawn(command, server._console, server._folder / "pid.json"))

    monkeypatch.setattr(RegistryServer, "_spawn", start)
    yield processes
    RegistryServer(tmp_path / "sandbox").down(remove=True, say=lambda _: None)
    assert not any(process.alive for process in processes)


def test_two_commands_at_a_time_start_one_registry(
    tmp_path: Path, spawned: list[BrokerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, reported, urls = threading.Event(), list[str](), list[str]()
    monkeypatch.setattr(RegistryServer, "_wait", lambda *_: waiting.wait(20))
    server = RegistryServer(tmp_path / "sandbox")
    commands = [
        threading.Thread(target=lambda: urls.append(server.up(tmp_path, tmp_path, reported.append))) for _ in range(2)
    ]
    for command in commands:
        command.start()
    until(lambda: len(reported) == 2, "one command starts the registry, and the other waits")
    waiting.set()
    for command in commands:
        command.join(20)
    assert sorted(reported) == [
        f"another command is using {tmp_path / 'sandbox'}: waiting for it",
        "starting the Schema Registry",
    ]
    assert (len(spawned), urls) == (1, [server.url] * 2)


def test_a_registry_whose_start_was_interrupted_is_started_again(
    tmp_path: Path, spawned: list[BrokerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, ports = RegistryServer(tmp_path / "sandbox"), iter([18101, 18102, 18103])

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RegistryServer, "_port", lambda _: next(ports))
    monkeypatch.setattr(RegistryServer, "_wait", lambda *_: None)
    server.up(tmp_path, tmp_path, print)
    server.down(remove=False, say=print)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(RegistryServer, "_wait", interrupted)
        server.up(tmp_path, tmp_path, print)
    assert server.url is None, "it has not answered, and the URL of an earlier start is no longer true"
    assert server.up(tmp_path, tmp_path, print) == server.url == "http://127.0.0.1:18103/apis/ccompat/v7"
    assert [process.alive for process in spawned] == [False, False, True]


def test_the_status_after_a_kill_waits_for_the_other_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    def status(*, joined: bool) -> SandboxStatus:
        other = BrokerStatus(1, "rack-1", 1, 7, BrokerCondition.RUNNING, in_cluster=joined)
        return SandboxStatus((other, BrokerStatus(2, "rack-2", 2, None, BrokerCondition.KILLED, in_cluster=False)))

    monkeypatch.setattr("topicwarden.cli.sandbox.time.sleep", lambda _: None)
    answers = iter([status(joined=False), status(joined=False), status(joined=True), status(joined=False)])
    assert _settled(lambda: next(answers)) == status(joined=True)
    monkeypatch.setattr("topicwarden.cli.sandbox._SETTLES_S", 0.0)
    assert _settled(lambda: next(answers)) == status(joined=False)
