"""Test the way to Kafka's jars on a machine whose only mirror is in Maven's own settings."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from topicwarden.toolchain import jars
from topicwarden.toolchain.jar_download import REPOSITORY
from topicwarden.toolchain.jar_lock import locked_jars


def test_maven_downloads_the_locked_jars_if_http_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("mvn") is None:
        pytest.skip("Maven is not installed")
    monkeypatch.setenv(REPOSITORY, "http://127.0.0.1:1/maven2")
    monkeypatch.delenv(jars.OFFLINE, raising=False)
    lines: list[str] = []
    jars.fetch(tmp_path, lines.append)
    assert "Connection refused (" in lines[1]
    assert lines[1].endswith("; trying Maven, which may know a mirror")
    assert lines[-1].startswith(f"Kafka: {len(locked_jars())} jars from Maven in ")
    assert all(jar.matches(jars.folder(tmp_path) / jar.name) for jar in locked_jars())
