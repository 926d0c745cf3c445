"""Test how the version of Java is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from topicwarden.toolchain.prerequisites import find_java, java_version

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
