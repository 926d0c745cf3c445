"""Test what a user reads if Java is missing or too old, or if Maven has no network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from topicwarden.model.problem import Refusal
from topicwarden.toolchain import jar_lock
from topicwarden.toolchain.prerequisites import find_java, java_version

GOAL = "Failed to execute goal org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
TRANSFER = "Could not transfer artifact org.apache.kafka:kafka:pom:4.1.1 from/to central (https://repo.example/maven2)"

START = """
from pathlib import Path
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
try:
    with spark_session(Project(Path.cwd())):
        pass
except Refusal as refused:
    print(refused)
"""


@pytest.mark.parametrize("home", [None, "/nowhere"])
def test_an_audit_without_java_names_the_remedy(home: str | None, tmp_path: Path) -> None:
    ended = subprocess.run(  # this process may have a session already, which needs no Java
        [sys.executable, "-c", START],
        cwd=tmp_path,
        env={"PATH": ""} | ({} if home is None else {"JAVA_HOME": home}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.startswith("this needs Java, 17 or newer (Debian: apt install "), ended.stderr
    assert ended.stdout.count("\n") == 1


@pytest.mark.parametrize(
    "reason", ["repo.example: Unknown host", "Connect timed out", "Connection refused", "Network is unreachable"]
)
def test_maven_without_a_network_is_one_short_line(
    reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maven = tmp_path / "mvn"
    maven.write_text(f"#!/bin/sh\necho '[ERROR] {GOAL}: {TRANSFER}: {reason} -> [Help 1]'\nexit 1\n", encoding="utf-8")
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refusal) as refused:
        jar_lock.run_maven([], tmp_path, "download the jars of kafka")
    assert str(refused.value) == (
        "Maven could not download the jars of kafka: https://repo.example/maven2 cannot be reached; check the network, "
        "or the mirror in ~/.m2/settings.xml, and run `topicwarden sandbox install` again"
    )
    assert GOAL in refused.value.details


_PRINTS = "#!/bin/sh\necho 'openjdk version \"%s\" 2026-09-15' >&2\n"


def jdk(home: Path, printed: str, release: str | None) -> Path:
    """Write a ``java`` that prints a version, and the file ``release`` of its JDK; return the ``java``."""
    java = home / "bin" / "java"
    java.parent.mkdir()
    java.write_text(_PRINTS % printed, encoding="utf-8")
    java.chmod(0o755)
    if release is not None:
        (home / "release").write_text(release, encoding="utf-8")
    return java


@pytest.mark.parametrize(
    ("printed", "release", "expected"),
    [
        ("11.0.2", 'IMPLEMENTOR="Debian"\nJAVA_VERSION="17.0.15"\nOS_NAME="Linux"\n', ("17.0.15", True)),
        ("26-ea", None, ("26-ea", True)),
        ("21.0.1", 'IMPLEMENTOR="Debian"\n', ("21.0.1", True)),
        ("1.8.0_392", None, ("1.8.0_392", False)),
        ("17.0.1", 'JAVA_VERSION="11.0.2"\n', ("11.0.2", False)),
    ],
)
def test_the_release_of_a_jdk_is_read_and_another_java_prints_its_version(
    printed: str, release: str | None, expected: tuple[str, bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = jdk(tmp_path, printed, release)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert (java_version(), find_java()) == (expected[0], java if expected[1] else None)


def test_a_jdk_without_java_has_no_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jdk(tmp_path, "17.0.1", 'JAVA_VERSION="17.0.1"\n').unlink()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert (java_version(), find_java()) == (None, None)
