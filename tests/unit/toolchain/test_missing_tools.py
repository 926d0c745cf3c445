"""Test what a user reads if Java is missing, or if Maven has no network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from topicwarden.model.problem import Refusal
from topicwarden.toolchain import maven_jars

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
        maven_jars.run([], tmp_path, "download the jars of kafka")
    assert str(refused.value) == (
        "Maven could not download the jars of kafka: https://repo.example/maven2 cannot be reached; check the network, "
        "or the mirror in ~/.m2/settings.xml, and run `topicwarden sandbox install` again"
    )
    assert GOAL in refused.value.details
