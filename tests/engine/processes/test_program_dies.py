"""Kill the Pulumi program, the language host, the provider or the engine at any point.

Test that there is then no plan, and that nothing is deleted.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients import until
from tests.support.projects import Shell, borrowing_cache, empty_stack, project_of
from tests.support.stack_state import resources_in_state
from topicwarden.deploy import lean_registration
from topicwarden.deploy.adoption import adopt
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.stack_state import read_stack_state
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain

_TOPIC = "{owner: team, partitions: 1, replication_factor: 1, allow: [delete]}\n"
_NAMES = ("a.v1", "b.v1", "c.v1", "d.v1")
_PROGRAM = "from topicwarden.deploy.program import deploy\n\ndeploy()\n"

_AT_IMPORT = "import os, signal, sys\n{death}\n" + _PROGRAM
_AFTER_ONE = (
    """
import os, signal, sys, time
from pathlib import Path
from topicwarden.deploy import lean_registration

made, sent = lean_registration._request, []

def parent(pid):
    return int(Path(f"/proc/{{pid}}/stat").read_text().rpartition(") ")[2].split()[1])

def provider():
    engine = str(parent(os.getppid()))
    for found in Path(f"/proc/{{engine}}/task").glob("*/children"):
        for child in found.read_text().split():
            if "pulumi-resource" in Path(f"/proc/{{child}}/cmdline").read_text():
                return int(child)

def registering(*arguments):
    if len(sent) == 2:
        time.sleep(1)  # the engine registers what was sent
        {death}
    sent.append(arguments)
    return made(*arguments)

lean_registration._request = registering
"""
    + _PROGRAM
)
_AFTER_ALL = """
import os, signal, sys
import pulumi
from topicwarden.deploy.program import deploy
deploy()
{death}
"""
_KILLED = "os.kill(os.getpid(), signal.SIGKILL)"
_RAISED = "raise MemoryError('no more')"
DEATHS = {
    "killed at import": _AT_IMPORT.format(death=_KILLED),
    "import fails": _AT_IMPORT.format(death="import not_installed"),
    "exit 1 at import": _AT_IMPORT.format(death="sys.exit(1)"),
    "killed after some": _AFTER_ONE.format(death=_KILLED),
    "raises after some": _AFTER_ONE.format(death=_RAISED),
    "exit 1 after some": _AFTER_ONE.format(death="sys.exit(1)"),
    "_exit 1 after some": _AFTER_ONE.format(death="os._exit(1)"),
    "exit 0 after some": _AFTER_ONE.format(death="sys.exit(0)"),
    "_exit 0 after some": _AFTER_ONE.format(death="os._exit(0)"),
    "language host killed": _AFTER_ONE.format(death="os.kill(os.getppid(), signal.SIGKILL); time.sleep(9)"),
    "provider killed": _AFTER_ONE.format(death="os.kill(provider(), signal.SIGKILL)"),
    "engine killed": _AFTER_ONE.format(death="os.kill(parent(os.getppid()), signal.SIGKILL); time.sleep(9)"),
    "killed after all": _AFTER_ALL.format(death=_KILLED),
    "exit 0 after all": _AFTER_ALL.format(death="sys.exit(0)"),
    "exit 1 after all": _AFTER_ALL.format(death="sys.exit(1)"),
    "not run": "",
}
_NOT_OURS = frozenset({"_exit 0 after some", "not run"})
"""Programs that exit with success without notifying Python or us. The engine believes them."""
_OTHER_PROCESSES = frozenset({"language host killed", "provider killed", "engine killed"})
"""Programs that kill processes which do not exist if a command runs the program itself."""
_END_THE_COMMAND = frozenset(
    {"killed at import", "killed after some", "killed after all", "_exit 0 after some", "_exit 1 after some"}
)
"""Programs that end the process of the command that runs them."""


@pytest.fixture(scope="module")
def shell(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A project with topics that are deployed on one broker. The YAML allows the deletion of each topic."""
    folder = tmp_path_factory.mktemp("dies")
    sandbox = Sandbox(folder / "sandbox", tools.java, tools.kafka_jars)
    cache = borrowing_cache(folder / "cache")
    try:
        sandbox.up(brokers=1, heap="256m")
        servers = ", ".join(sandbox.bootstrap_servers)
        settings = f"config: {{'kafka:bootstrapServers': [{servers}], 'kafka:tlsEnabled': false}}\n"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TOPICWARDEN_CACHE", str(cache))
            project = project_of(folder / "project", {f"dies/{name}.yaml": _TOPIC for name in _NAMES}, settings)
            shell = empty_stack(project, folder / "state", {"TOPICWARDEN_CACHE": str(cache)})
        done = shell.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive")
        assert done.returncode == 0, done.stdout + done.stderr
        yield shell
    finally:
        sandbox.down(remove=True)


@pytest.fixture(params=DEATHS)
def dead(request: pytest.FixtureRequest) -> str:
    """The kind of program failure."""
    return str(request.param)


@pytest.fixture
def dying(shell: Shell, dead: str) -> Iterator[Shell]:
    """The project with a program that fails."""
    program = shell.folder / "stacks" / "__main__.py"
    program.write_text(DEATHS[dead], encoding="utf-8")
    # A program that this process runs itself changes this module, too.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lean_registration, "_request", lean_registration._request)
        yield shell
    program.write_text(_PROGRAM, encoding="utf-8")
    # A killed engine leaves its lock.
    shell.run("pulumi", "cancel", "--yes", "--non-interactive")


@pytest.fixture
def undeployed(shell: Shell) -> Iterator[frozenset[str]]:
    """Topics that are on the cluster as declared, and that nobody has deployed."""
    names, folder = frozenset({"e.v1", "f.v1", "g.v1"}), shell.folder / "topics" / "dies"
    with connected(list(connect_to(Project(shell.folder), "dev").bootstrap_servers)) as admin:
        admin.create_topics({name: {"num_partitions": 1, "replication_factor": 1} for name in names})
        for name in names:
            (folder / f"{name}.yaml").write_text(_TOPIC)
        yield names
        for name in names:
            (folder / f"{name}.yaml").unlink()
        admin.delete_topics(list(names))


def _recorded(resources: Iterable[Mapping[str, Any]]) -> dict[str, list[object]]:
    """Return what a state has of each resource, without the times and the lines of the program that registered it."""
    return {each["urn"]: [each.get(key) for key in ("id", "inputs", "outputs", "parent")] for each in resources}


def _live(shell: Shell) -> dict[str, str]:
    with open_cluster(connect_to(Project(shell.folder), "dev")) as cluster:
        return {name: live.id for name, live in cluster.snapshot(_NAMES).topics.items()}


def _after(shell: Shell) -> dict[str, str]:
    """Return the topics after the engine of a killed command has ended."""
    state = f"PULUMI_BACKEND_URL={shell.variables['PULUMI_BACKEND_URL']}"
    until(lambda: not any(state in variables for variables in _engines()), "the engine ends")
    return _live(shell)


def _engines() -> Iterator[list[str]]:
    """Yield the environment of each running `pulumi up`."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if b"pulumi\0up\0" in (folder / "cmdline").read_bytes():
                yield (folder / "environ").read_bytes().decode(errors="replace").split("\0")


@pytest.mark.nightly(
    "The suite keeps each process that can be killed, and an end of the program that looks like a success.",
    stays=(
        "engine killed",
        "provider killed",
        "language host killed",
        "killed after some",
        "exit 0 after some",
    ),
)
def test_plain_pulumi_deletes_nothing(dying: Shell, dead: str) -> None:
    if dead in _NOT_OURS:
        return
    before = _live(dying)
    assert set(before) == set(_NAMES)
    done = dying.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive")
    assert done.returncode != 0, done.stdout
    assert _live(dying) == before


@pytest.mark.nightly(
    "The suite keeps a program that ends as if it had succeeded.",
    stays=("exit 0 after some", "_exit 0 after some"),
)
@pytest.mark.parametrize("dead", sorted(set(DEATHS) - _OTHER_PROCESSES))
def test_no_plan_and_no_deletion(dying: Shell, dead: str) -> None:
    before = _live(dying)
    assert set(before) == set(_NAMES)
    done = dying.topicwarden("--quiet", "plan", "--stack", "dev", "--format", "json")
    assert done.stdout == ""
    if dead not in _END_THE_COMMAND:
        assert done.returncode == 2, done.stderr
        (line,) = done.stderr.splitlines()
        assert "Traceback" not in line
        log = Path(line.rpartition("; the log is ")[2])
        assert log.stat().st_mode & 0o077 == 0
        assert "exit code" in log.read_text()
    done = dying.topicwarden("--quiet", "up", "--stack", "dev", "--yes")
    assert done.returncode != 0 or dead in _NOT_OURS, done.stdout
    assert _after(dying) == before


@pytest.mark.parametrize("dead", ["raises after some", "exit 0 after some", "exit 0 after all", "not run"])
def test_nothing_is_adopted(
    dying: Shell, undeployed: frozenset[str], dead: str, caplog: pytest.LogCaptureFixture
) -> None:
    engine, resources = PulumiEngine(Project(dying.folder), "dev", dying.variables), resources_in_state(dying)
    with open_cluster(connect_to(engine.project, "dev")) as cluster:
        live = cluster.snapshot()
    assert undeployed < live.topics.keys()
    with pytest.raises(Refusal) as refused:
        adopt(engine, live, resources)
    expected = {"raises after some": "MemoryError: no more"}
    assert expected.get(dead, "the program ended before every topic was registered") in str(refused.value)
    assert "bootstrapServers" not in str(refused.value)
    assert not [entry.getMessage() for entry in caplog.records if entry.name.startswith("grpc")]
    assert _recorded(resources_in_state(dying)) == _recorded(resources)


def test_a_truncated_state_is_refused(shell: Shell, tmp_path: Path) -> None:
    """A `pulumi` process that is killed during the export is refused too."""
    pulumi, path = tmp_path / "pulumi", shell.variables["PATH"]
    for script, expected in (
        ('pulumi_real "$@" | head -c 300', "`pulumi stack export` ended early"),
        ("kill -9 $$", "`pulumi stack export` was killed by signal 9"),
    ):
        real = shutil.which("pulumi", path=path)
        pulumi.write_text(f"#!/bin/sh\n{script.replace('pulumi_real', str(real))}\n")
        pulumi.chmod(0o755)
        engine = PulumiEngine(Project(shell.folder), "dev", {**shell.variables, "PATH": f"{tmp_path}:{path}"})
        with pytest.raises(Refusal, match=expected):
            read_stack_state(engine)


def test_a_complete_program_is_planned(shell: Shell) -> None:
    """Runs after all other tests: no failed program has left anything behind. The program may import its neighbors."""
    shell.folder.joinpath("stacks", "beside.py").write_text("", encoding="utf-8")
    shell.folder.joinpath("stacks", "__main__.py").write_text(f"import beside\n{_PROGRAM}", encoding="utf-8")
    done = shell.topicwarden("plan", "--stack", "dev", "--format", "json", "--detailed-exitcode")
    assert done.returncode == 0, done.stdout + done.stderr
    done = shell.run("pulumi", "preview", "--expect-no-changes", "--non-interactive")
    assert done.returncode == 0, done.stdout
