"""Find the tools that an installation needs: always Java, Maven to build the Spark reader, Go to build Pulumi."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from topicwarden.model.problem import Refusal

JAVA = 17  # the oldest version that Kafka's brokers and Spark 4 support
REGISTRY_JAVA = 21  # the oldest version that Apicurio Registry 3 supports
GO = (1, 21)  # the first version that downloads the newer Go toolchain that a go.mod requires

HOW = {
    "java": (
        f"Java, {JAVA} or newer (Debian: apt install openjdk-17-jre-headless; macOS: brew install openjdk@17, "
        "then set JAVA_HOME)"
    ),
    "maven": "Maven and a JDK, to build the Spark reader (Debian: apt install maven; macOS: brew install maven)",
    "go": (
        f"Go, {GO[0]}.{GO[1]} or newer, to build Pulumi, because Pulumi's download site cannot be reached "
        "(https://go.dev/dl; macOS: brew install go); or Pulumi itself on the PATH"
    ),
}
"""Each tool, with the way to install it."""


def find_java() -> Path | None:
    """Return the ``java`` of JAVA_HOME, else of the PATH, with symbolic links resolved; None if it is too old."""
    named, release = _java()
    return Path(named).resolve() if named and release and _major(release) >= JAVA else None


def java_version() -> str | None:
    """Return the version of the ``java`` that ``find_java`` looks at, also if it is too old; None without any."""
    return _java()[1]


def _java() -> tuple[str | None, str | None]:
    home = os.environ.get("JAVA_HOME")
    named = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    return named, _version(Path(named)) if named else None


def _version(java: Path) -> str | None:
    """Return the version of ``java``; None if the file does not exist, or if it prints no version.

    A JDK has the version in its file ``release``. A start of Java takes 0.1 s.
    """
    if not java.is_file():
        return None
    try:
        release = (java.resolve().parent.parent / "release").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        release = ""
    found = re.search(r'^JAVA_VERSION="(\d[^"]*)"', release, re.MULTILINE)
    found = found or re.search(r'version "(\d[^"]*)"', _output(str(java), "-version"))
    return found[1] if found else None


def _major(version: str) -> int:
    """Return 26 for "26.0.1" and for "26-ea"."""
    return int(re.split(r"\D", version, maxsplit=1)[0])


def require_java() -> Path:
    """Return the path of ``java``. Raises Refusal if Java is missing or too old."""
    java = find_java()
    if java is None:
        raise Refusal(f"this needs {HOW['java']}")
    return java


def require_registry_java() -> Path:
    """Return a ``java`` for Apicurio Registry: of JAVA_HOME, of the PATH, or of a folder beside the one on the PATH.

    Raises Refusal if none of them is new enough.
    """
    for java in _javas():
        version = _version(java)
        if version and _major(version) >= REGISTRY_JAVA:
            return java
    raise Refusal(
        f"the sandbox's Schema Registry needs Java {REGISTRY_JAVA} or newer (Debian: apt install "
        "openjdk-21-jre-headless; macOS: brew install openjdk@21); it may be installed beside an older one"
    )


def _javas() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if found := shutil.which("java"):
        yield Path(found)
        # Linux distributions install versions side by side: /usr/lib/jvm/<name>/bin/java.
        yield from sorted(Path(found).resolve().parents[2].glob("*/bin/java"))


def find_go() -> str | None:
    """Return the path of ``go``; None if it is not installed or too old."""
    go = shutil.which("go")
    release = re.search(r"go(\d+)\.(\d+)", _output(go, "version")) if go else None
    return go if release and (int(release[1]), int(release[2])) >= GO else None


def require(*, maven: bool, go: bool) -> Path:
    """Return the path of ``java``.

    Raises one Refusal that lists every missing tool, and how to install it. ``maven`` and ``go`` are required only
    if they are true.
    """
    java = find_java()
    missing = [] if java else ["java"]
    if maven and not shutil.which("mvn"):
        missing.append("maven")
    if go and not find_go():
        missing.append("go")
    if java is None or missing:
        parts = "\n".join(f"  - {HOW[part]}" for part in missing)
        raise Refusal(f"these tools are missing:\n{parts}\nInstall them, then run the command again.")
    return java


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr
