"""Test what a user reads if Java is missing, or if Maven has no network."""

from __future__ import annotations

from pathlib import Path

import pytest

from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.toolchain import maven_jars

GOAL = "Failed to execute goal org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
TRANSFER = "Could not transfer artifact org.apache.kafka:kafka:pom:4.1.1 from/to central (https://repo.example/maven2)"


@pytest.mark.parametrize("home", [None, "/nowhere"])
def test_an_audit_without_java_names_the_remedy(
    home: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("JAVA_HOME", home)
    with (
        pytest.raises(Refusal, match=r"^this needs Java, 17 or newer \(Debian: apt install "),
        spark_session(Project(tmp_path)),
    ):
        pass


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
