"""Test the command line with invalid input and in a broken environment.

Every command must print one line, exit with code 2, and show no traceback.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from kafka.admin import NewTopic

from tests.support import projects
from tests.support.projects import BIN, Shell, borrowing_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.write.access_admin import alter_quotas
from topicwarden.toolchain import Toolchain

GOOD = {"good/good.v1.yaml": "{partitions: 1, replication_factor: 3, owner: team}"}


@pytest.fixture(scope="module")
def sandbox(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A running sandbox, of one broker: no test of this file gets as far as to read its topics."""
    with (
        projects.own_cache(tmp_path_factory.mktemp("bad-input")) as folder,
        running(sandbox_of(project_of(folder / "sandbox", {})), brokers=1) as sandbox,
    ):
        yield sandbox


@pytest.fixture
def own_cache(tmp_path: Path, tools: Toolchain) -> dict[str, str]:
    """The environment variables for a cache without a sandbox."""
    return {"TOPICWARDEN_CACHE": str(borrowing_cache(tmp_path / "cache"))}


def shell_of(folder: Path, topics: Mapping[str, str], settings: str | None = None, **variables: str) -> Shell:
    """Return a shell in its own project, as before `make shell`."""
    project = project_of(folder / "project", topics, **({"settings": settings} if settings else {}))
    return Shell(project.root, variables)


def waits(line: str) -> bool:
    """Return whether a line says what a command waits for, and since when."""
    return line.startswith("another sandbox is starting") or re.search(r": (\d+ min )?\d+ s$", line) is not None


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """Return the only line that a refused command printed, apart from what it waited for."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    (line,) = (line for line in done.stderr.splitlines() if not waits(line))
    assert line.startswith("topicwarden: ")
    return line


@pytest.mark.parametrize("command", ["audit", "check"])
def test_an_unknown_stack(command: str, own_cache: dict[str, str], tmp_path: Path) -> None:
    line = refused(shell_of(tmp_path, GOOD, **own_cache).in_process(command, "--stack", "prod"))
    assert line == "topicwarden: no stack prod; stacks: dev"


@pytest.mark.parametrize("command", [["check"], ["audit", "--stack", "dev"], ["sandbox", "up"], ["demo"]])
def test_a_command_outside_any_project(command: list[str], tmp_path: Path) -> None:
    line = refused(Shell(tmp_path).in_process(*command))
    assert "expected a folder with Pulumi.yaml and topics/" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["audit", "check"])
def test_an_empty_project(command: str, own_cache: dict[str, str], tmp_path: Path, sandbox: Sandbox) -> None:
    line = refused(shell_of(tmp_path, {}).in_process(command, "--stack", "dev"))
    assert "topics/ declares no topic: write topics/<domain>/<topic>.yaml" in line


def test_no_sandbox_is_up(own_cache: dict[str, str], tmp_path: Path) -> None:
    line = refused(shell_of(tmp_path, GOOD, **own_cache).in_process("audit", "--stack", "dev"))
    assert "the sandbox is not running: start it with `topicwarden sandbox up`" in line


def test_no_cluster_answers(own_cache: dict[str, str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    settings = f"config: {{'kafka:bootstrapServers': ['127.0.0.1:{port}'], 'kafka:tlsEnabled': false}}"
    out = tmp_path / "out"
    done = shell_of(tmp_path, GOOD, settings, **own_cache).in_process("audit", "--stack", "dev", "--out", out)
    assert f"no Kafka cluster answers at 127.0.0.1:{port}" in refused(done)
    assert not out.exists()


@pytest.mark.parametrize(
    ("settings", "output"),
    [
        ("config: [", "stacks/Pulumi.dev.yaml:2:1: not YAML: "),
        ("config: 7", "stacks/Pulumi.dev.yaml cannot be read as stack settings: "),
        ("- config", "stacks/Pulumi.dev.yaml cannot be read as stack settings: "),
        ("{}", "stacks/Pulumi.dev.yaml names no cluster: set kafka:bootstrapServers"),
        ("config: {'kafka:bootstrapServers': [a:1], 'kafka:tlsEnabled': maybe}", "kafka:tlsEnabled: expected true or"),
        (
            "config: {'kafka:bootstrapServers': [a:1], 'kafka:saslMechanism': gssapi, 'kafka:saslUsername': u, "
            "'kafka:saslPassword': p}",
            "kafka:saslMechanism: expected one of",
        ),
        ("config: {'kafka:bootstrapServers': 9092}", "kafka:bootstrapServers"),
        ("config: {'kafka:bootstrapServers': '[a:1'}", "kafka:bootstrapServers"),
    ],
)
def test_stack_settings_with_missing_files(
    settings: str, output: str, own_cache: dict[str, str], tmp_path: Path
) -> None:
    assert output in refused(shell_of(tmp_path, GOOD, settings, **own_cache).in_process("audit", "--stack", "dev"))


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_read(sandbox: Sandbox, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    line = refused(shell_of(tmp_path, GOOD).in_process("audit", "--stack", "dev", "--out", taken))
    assert f"cannot write the report to {taken}: {taken} is not a folder; select another with --out" in line
    assert taken.read_text() == "mine"


def test_invalid_declarations_are_not_audited(sandbox: Sandbox, tmp_path: Path) -> None:
    bad = {"bad.yaml": "{partitions: 0, replication_factor: 0}"}
    line = refused(shell_of(tmp_path, bad).in_process("audit", "--stack", "dev"))
    assert "the declared topics cannot be audited: topics/bad.yaml:1:14: " in line
    assert "(and 1 more); run `topicwarden check --stack dev`" in line


def test_a_port_in_use(own_cache: dict[str, str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = min(taken.getsockname()[1], 65_000)
        done = shell_of(tmp_path, GOOD, **own_cache).in_process("sandbox", "up", "--port", str(port))
    assert f"port {port} is in use: stop the program that uses it, select another port with --port" in refused(done)
    assert not (Path(own_cache["TOPICWARDEN_CACHE"]) / "sandbox" / "state.json").exists()


@pytest.fixture
def no_java(tmp_path: Path) -> dict[str, str]:
    """The environment variables of a machine with the standard tools and without Java."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bash", "sh", "env", "dirname", "basename", "uname", "ps", "cat", "rm", "ls", "readlink"):
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    return {"PATH": str(folder), "JAVA_HOME": ""}


def test_no_java(no_java: dict[str, str], own_cache: dict[str, str], sandbox: Sandbox, tmp_path: Path) -> None:
    shell = shell_of(tmp_path, GOOD, **no_java)
    assert "17 or newer" in refused(shell.topicwarden("audit", "--stack", "dev"))
    shell = shell_of(tmp_path, GOOD, **no_java, **own_cache)
    assert "this needs Java, 17 or newer (Debian: apt install" in refused(shell.topicwarden("sandbox", "up"))
    assert not (Path(own_cache["TOPICWARDEN_CACHE"]) / "sandbox").exists()


def test_all_errors_of_the_yaml_are_reported_together(tmp_path: Path) -> None:
    topics = {
        "broken.yaml": "partitions: [1\n",
        "impossible.yaml": "{partitions: 1, replication_factor: 0}\n",
        "too-many-in-sync.yaml": "partitions: 1\nreplication_factor: 2\nconfig: {min.insync.replicas: 3}\n",
        "unknown.yaml": "partitions: 1\nreplication_factor: 3\nconfig: {retention: 7d}\n",
        "wrong-type.yaml": "partitions: many\nreplication_factor: 3\n",
    }
    done = shell_of(tmp_path, topics).in_process("check")
    assert done.returncode == 1
    assert re.findall(r"^(topics/\S+:\d+:\d+): (?!warning)", done.stdout, re.MULTILINE) == [
        "topics/broken.yaml:1:13",
        "topics/impossible.yaml:1:37",
        "topics/too-many-in-sync.yaml:3:31",
        "topics/unknown.yaml:3:10",
        "topics/wrong-type.yaml:1:13",
    ]
    assert "5 errors" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


# The cluster becomes unavailable during a command.


@pytest.fixture
def slow(sandbox: Sandbox, tmp_path: Path) -> Shell:
    """A topic with a small and a large partition, on a broker that limits all clients to 20 kB per second."""
    topics = {"slow.v1.yaml": "{partitions: 2, replication_factor: 1, config: {min.insync.replicas: 1}}"}
    servers = sandbox.up(brokers=1).bootstrap_servers  # a first run of the test has killed the broker
    with connected(servers) as admin:
        if "slow.v1" not in admin.list_topics():
            admin.create_topics([NewTopic("slow.v1", 2, 1)])
    with writing(servers) as writer:
        writer.send("slow.v1", "key", "small", partition=0)
        for _ in range(100):
            writer.send("slow.v1", "key", os.urandom(20_000), partition=1)
            writer.flush()
    with connected(servers) as admin:
        assert not alter_quotas(admin, {(("client-id", None),): {"consumer_byte_rate": 20_000.0}})
    return shell_of(tmp_path, topics)


def test_a_cluster_that_stops_during_the_scan(sandbox: Sandbox, slow: Shell, tmp_path: Path) -> None:
    """The last test of this file, because it kills the broker."""
    command = [str(BIN / "topicwarden"), "audit", "--stack", "dev", "--out", str(tmp_path / "out")]
    # Draw the progress as on a terminal. At 50%, Spark is in the middle of its work.
    variables = {**os.environ, **slow.variables, "FORCE_COLOR": "1"}
    with subprocess.Popen(
        command, cwd=slow.folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as audit:
        assert audit.stderr
        drawn = b""
        while b" 50%" not in drawn:
            more = os.read(audit.stderr.fileno(), 4096)
            assert more, drawn.decode()
            drawn += more
        sandbox.kill(1)
        printed, rest = audit.communicate(timeout=120)
    output = rest.decode()
    assert audit.returncode == 2
    assert printed == b""
    line = output.rpartition("topicwarden: ")[2]
    assert line.startswith("no Kafka cluster answers at ")
    assert line.endswith("nothing listens on this port; start the broker, or correct the address\n")
    assert line.count("\n") == 1
    assert "Traceback" not in output
    assert not (tmp_path / "out").exists()
