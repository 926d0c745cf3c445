"""Test what a user gets who installs the wheel: every command works in a folder outside of the repository."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.conftest import REPOSITORY
from tests.support.installations import find_python, install_with_everything, install_without_extras
from tests.support.projects import Shell
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain, apicurio, jars
from topicwarden.toolchain.jar_lock import locked_jars

TUTORIAL = (REPOSITORY / "docs" / "tutorial.md").read_text(encoding="utf-8")
_VERSION = "Programming Language :: Python :: 3."
_CLASSIFIERS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
PYTHONS = sorted(int(one.removeprefix(_VERSION)) for one in _CLASSIFIERS if one.startswith(_VERSION))
_SKIPPED = (
    *("make wheel", "uv tool install", "cd my-topics", "topicwarden sandbox down"),
    "topicwarden audit --bootstrap-server kafka-1.example.com:9093",  # a cluster of the reader
)
_OURS = ("PULUMI_", "TOPICWARDEN_", "SPARK_", "PYSPARK_", "XDG_", "PYTHON", "VIRTUAL_ENV", "JAVA_HOME")


@pytest.fixture(scope="module")
def user(wheel: Path, tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A user's shell in an empty folder. The machine has Java and Pulumi; Maven, Go and a compiler would fail."""
    home = tmp_path_factory.mktemp("a home")
    install_with_everything(wheel, home / "tools" / "topicwarden")
    failing = home / "failing"
    failing.mkdir()
    for name in ("mvn", "go", "javac", "make"):
        (failing / name).write_text('#!/bin/sh\necho "$0 was called" >&2; exit 9\n')
        (failing / name).chmod(0o755)
    path = [home / "tools" / "topicwarden" / "bin", failing, tools.pulumi.parent, os.environ["PATH"]]
    folder = home / "my topics"
    folder.mkdir()
    # The archive, which is 151 MiB, is downloaded once for all tests.
    registry = apicurio.fetch(Project(REPOSITORY).tools_cache, print)
    shutil.copytree(registry, apicurio.folder(home / ".cache" / "topicwarden"), copy_function=os.link)
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(_OURS)]:
            patch.delenv(name)
        variables = {
            "PATH": os.pathsep.join(map(str, path)),
            "HOME": str(home),
            "TOPICWARDEN_JARS": str(tools.kafka_jars),
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        shell = Shell(folder, variables)
        try:
            yield shell
        finally:
            Shell(folder / "my-topics", variables).run("topicwarden", "sandbox", "down", "--remove")


@pytest.fixture(scope="module")
def tutorial(registry_java: Path, user: Shell) -> dict[str, str]:
    """The outputs of the tutorial's commands, in the folder of the user. Each has the exit code that the page says.

    The outputs of a command that the page repeats are one text.
    """
    outputs: dict[str, str] = {}
    project = user.folder / "my-topics"
    blocks = re.findall(r"(?:Save\s+this as `([^`]+)`[^`]*)?^```(\w+)\n(.*?)^```", TUTORIAL, re.MULTILINE | re.DOTALL)
    for name, language, code in blocks:
        if name:
            (project / name).write_text(code)
        if language != "sh":
            continue
        for line in code.splitlines():
            command, _, comment = (part.strip() for part in line.partition(" #"))
            if command.startswith(_SKIPPED):
                continue
            done = Shell(project if project.exists() else user.folder, user.variables).run("sh", "-c", command)
            output = done.stdout + done.stderr
            assert done.returncode == int(comment.removeprefix("exit code ") or 0), f"{command}\n{output}"
            assert "was called" not in output
            outputs[command] = outputs.get(command, "") + output
    return outputs


@pytest.fixture(scope="module")
def project(user: Shell, tutorial: dict[str, str]) -> Shell:
    """A shell in the project of the tutorial, whose topics are deployed."""
    return Shell(user.folder / "my-topics", user.variables)


def test_the_wheel_has_the_reader_the_locked_jars_and_the_template(wheel: Path) -> None:
    archive = ZipFile(wheel)
    names = set(archive.namelist())
    template = REPOSITORY / "validation" / "topicwarden" / "template"
    files = {path.relative_to(template.parents[1]).as_posix() for path in template.rglob("*") if path.is_file()}
    files = {name for name in files if "__pycache__" not in name}
    assert len(files) >= 8
    assert files <= names
    for name in files:  # also the links to files of the repository
        assert archive.read(name) == (template.parents[1] / name).read_bytes()
    assert {"topicwarden/toolchain/spark-reader.jar", "topicwarden/toolchain/maven/kafka/jars.lock"} <= names
    assert [name for name in names if name.endswith(".jar")] == ["topicwarden/toolchain/spark-reader.jar"]


@pytest.mark.nightly("The suite runs README's commands, and each command of the tutorial on a cluster.")
def test_the_commands_of_the_tutorial_do_what_it_says(tutorial: dict[str, str]) -> None:
    assert ":7:22: max.message.bytes: expected at most 2MiB, got 5MiB [record-size]" in tutorial["topicwarden check"]
    assert "+ 10 created" in tutorial["topicwarden up --stack dev --yes"]
    assert "User:billing loses Read" in tutorial["topicwarden plan --stack dev"]
    assert "refused incompatible orders.payments.v1-value" in tutorial["topicwarden plan --stack dev"]
    assert "1 of 1 retained records of orders.payments.v1 cannot be read" in tutorial["topicwarden plan --stack dev"]
    inferred = tutorial["topicwarden infer --stack dev web.visits.v1 --out topics/web"]
    assert "# web.visits.v1: inferred from all 2,000 records" in inferred
    broken = tutorial["topicwarden audit --stack dev --topics 'web.*'"]
    assert "1 record whose value is not json as declared" in broken
    assert "/seconds: expected integer, got string" in broken
    audited = tutorial["topicwarden audit --stack dev --out reports"]
    assert "fail value-schema orders.placed.v1" in audited
    assert "1 fail, 0 suspect, 0 undecidable" in audited


@pytest.mark.nightly("It follows the tutorial. The suite keeps README's commands.")
def test_the_tutorial_has_the_commands_that_init_prints(tutorial: dict[str, str]) -> None:
    printed = tutorial["topicwarden init my-topics"].partition("Next:\n")[2].splitlines()
    commands = [line.partition("#")[0].strip() for line in printed]
    assert commands.pop(0) == "cd my-topics"
    assert [command for command in commands if command not in TUTORIAL] == []
    assert len(commands) == 3


@pytest.mark.nightly("It follows the tutorial. The suite keeps a new project of the wheel.")
def test_no_command_uses_the_repository(project: Shell) -> None:
    home = Path(project.variables["HOME"])
    for python in ("python", project.folder / ".venv" / "bin" / "python"):
        package = project.run(python, "-c", "import topicwarden; print(topicwarden.__file__)").stdout
        assert Path(package).is_relative_to(home)


@pytest.mark.nightly("It follows the tutorial. The suite keeps these commands on other clusters.")
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["plan", "--stack", "dev"], "no topic changes"),
        (["import", "--stack", "dev"], "skipped: 3 already declared"),
        (["rebalance", "--stack", "dev", "--yes"], "nothing to move"),
        (["sandbox", "status"], "running"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_the_other_commands_work_too(project: Shell, command: list[str], shown: str) -> None:
    done = project.run("topicwarden", *command)
    assert (done.returncode, shown in done.stdout + done.stderr) == (0, True), done.stdout + done.stderr


@pytest.mark.nightly("It follows the tutorial. The suite keeps plain Pulumi in other projects.")
def test_plain_pulumi_works_with_the_environment(project: Shell) -> None:
    variables = 'eval "$(topicwarden sandbox env --stack dev)"'
    done = project.run(
        "sh", "-c", f"{variables} && pulumi preview --stack dev --expect-no-changes --policy-pack policies"
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly("It follows the tutorial. The suite keeps the units of downloads.")
def test_downloads_are_in_the_cache_of_the_user(project: Shell) -> None:
    home = Path(project.variables["HOME"])
    assert (home / ".cache" / "topicwarden" / "jars" / "kafka" / "kafka-clients-4.1.1.jar").is_file()
    assert not list((project.folder / ".cache").rglob("*.jar"))
    made = (project.folder / "Pulumi.yaml").stat().st_mtime
    assert [path for path in (home / "tools").rglob("*") if path.stat().st_mtime > made] == []


@pytest.mark.nightly("It needs another install with all extras; spark/platforms keeps the module.")
def test_the_module_for_spark_submit_is_in_the_wheel(user: Shell) -> None:
    done = user.run("python", "-m", "topicwarden.audit", "--help")
    assert (done.returncode, "Usage: python -m topicwarden.audit audit" in done.stdout) == (0, True), done.stderr


@pytest.mark.nightly("The suite keeps the oldest Python.", stays=("11",))
@pytest.mark.parametrize("minor", [PYTHONS[0], PYTHONS[-1]])
def test_a_new_project_passes_its_check_with_each_python(wheel: Path, tmp_path: Path, minor: int) -> None:
    python = find_python(f"3.{minor}")
    if python is None:
        pytest.skip(f"Python 3.{minor} is not installed")
    if minor == sys.version_info.minor:
        install_with_everything(wheel, tmp_path / "environment")
    else:
        install_without_extras(wheel, python, tmp_path / "environment")
    command = tmp_path / "environment" / "bin" / "topicwarden"
    done = Shell(tmp_path, {"PYTHONPATH": ""}).run(command, "init", "my topics", "--ci", "github")
    assert (done.returncode, done.stderr) == (0, "")
    checked = Shell(tmp_path / "my topics", {"PYTHONPATH": ""}).run(command, "check")
    assert (checked.returncode, checked.stdout) == (0, ""), checked.stderr
    assert checked.stderr == "2 topics: 0 errors, 0 warnings\n"


@pytest.mark.nightly("The suite keeps the download by HTTP, and Maven's arguments.")
def test_maven_downloads_the_locked_jars_if_http_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("mvn") is None:
        pytest.skip("Maven is not installed")
    monkeypatch.setenv(jars.REPOSITORY, "http://127.0.0.1:1/maven2")
    monkeypatch.delenv(jars.OFFLINE, raising=False)
    lines: list[str] = []
    jars.fetch(tmp_path, lines.append)
    assert "Connection refused (" in lines[1]
    assert lines[1].endswith("; trying Maven, which may know a mirror")
    assert lines[-1].startswith(f"Kafka: {len(locked_jars())} jars from Maven in ")
    assert all(jar.matches(jars.folder(tmp_path) / jar.name) for jar in locked_jars())
