"""What must be on the machine before anything can be installed: a JDK, and Maven and Go where they have work to do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from topicwarden.problem import Refusal

JAVA = 17  # the oldest that Kafka's brokers and Spark 4 run on
GO = (1, 21)  # the first that fetches the newer Go which a go.mod asks for

_HOW = {
    "java": (
        f"a JDK, {JAVA} or newer (Debian: apt install openjdk-17-jdk-headless; macOS: brew install openjdk@17, "
        "then set JAVA_HOME)"
    ),
    "maven": "Maven, for Kafka's jars and the Spark reader (Debian: apt install maven; macOS: brew install maven)",
    "go": (
        f"Go, {GO[0]}.{GO[1]} or newer, to build Pulumi, whose download site cannot be reached "
        "(https://go.dev/dl; macOS: brew install go), or Pulumi itself on the PATH"
    ),
}


def find_java() -> Path | None:
    """The ``java`` of JAVA_HOME, or else of the PATH, if it is new enough; symbolic links are followed."""
    home = os.environ.get("JAVA_HOME")
    named = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not named or not Path(named).is_file():
        return None
    release = re.search(r'version "(\d+)', _output(named, "-version"))
    return Path(named).resolve() if release and int(release[1]) >= JAVA else None


def find_go() -> str | None:
    """The path of ``go``, if it is new enough."""
    go = shutil.which("go")
    release = re.search(r"go(\d+)\.(\d+)", _output(go, "version")) if go else None
    return go if release and (int(release[1]), int(release[2])) >= GO else None


def require(*, maven: bool, go: bool) -> Path:
    """The ``java`` to use.

    Raises one Refusal that names every part that is missing, and how to get it.
    """
    java = find_java()
    missing = [] if java else ["java"]
    if maven and not shutil.which("mvn"):
        missing.append("maven")
    if go and not find_go():
        missing.append("go")
    if java is None or missing:
        parts = "\n".join(f"  - {_HOW[part]}" for part in missing)
        raise Refusal(
            f"this machine lacks:\n{parts}\nInstall what is named, then run `topicwarden sandbox install` again."
        )
    return java


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr
