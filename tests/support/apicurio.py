"""Provide a Schema Registry for tests: Apicurio, which implements Confluent's REST API.

Maven downloads Apicurio on first use. Only the tests of the audit's content checks use it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

from filelock import FileLock

from topicwarden.model.problem import Refusal

VERSION = "3.3.3"
JAVA = 21
"""The minimum Java version that Apicurio requires."""
RUNNER = "quarkus-run.jar"

_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
_ARTIFACT = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"


def fetch(cache: Path, say: Callable[[str], None]) -> Path:
    """Return the folder that contains ``RUNNER``; download it (158 MB) if it is missing.

    Raises Refusal with the first error that Maven prints.
    """
    target = cache / "jars" / "registry" / VERSION
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.with_name(f".{VERSION}.lock")):  # two workers of one run may need it at the same time
        return target if (target / RUNNER).is_file() else _download(target, say)


def _download(target: Path, say: Callable[[str], None]) -> Path:
    partial = target.with_name(f".{VERSION}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    say(f"Apicurio Registry {VERSION}: fetching with Maven")
    command = ["mvn", "-B", "-q", _GOAL, f"-Dartifact={_ARTIFACT}", f"-DoutputDirectory={partial}"]
    done = subprocess.run(command, cwd=partial, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refusal(
            f"Maven could not fetch {_ARTIFACT}: {(done.stdout + done.stderr).strip()[:300]}; check the network"
        )
    (archive,) = partial.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(partial, filter="data")
    (runner,) = partial.rglob(RUNNER)
    shutil.rmtree(target, ignore_errors=True)
    runner.parent.rename(target)
    shutil.rmtree(partial, ignore_errors=True)
    return target


def find_java() -> Path | None:
    """Return a Java that is new enough, or None. Look in JAVA_HOME, on the PATH, and beside the Java on the PATH."""
    return next((java for java in _candidates() if (_release(java) or 0) >= JAVA), None)


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if found := shutil.which("java"):
        yield Path(found)
        # Distributions install several Java versions side by side: …/jvm/<name>/bin/java.
        yield from sorted(Path(found).resolve().parents[2].glob("*/bin/java"))


def _release(java: Path) -> int | None:
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    output = re.search(r'version "(\d+)', done.stderr + done.stdout)
    return int(output[1]) if output else None
