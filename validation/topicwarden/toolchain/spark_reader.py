"""Build the Spark reader from its Maven module. Only a source checkout has the module; the wheel has the jars.

``python -m topicwarden.toolchain.spark_reader`` builds the jars of all Spark lines, for the wheel.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.toolchain import maven

LINES = ("4.0", "4.1", "4.2")
"""The supported Spark lines, as the profiles of the module's ``pom.xml`` define them."""

MODULE = Path(__file__).parents[2] / "spark-reader"


PACKAGED = Path(__file__).parents[1] / "jars"
"""Where the wheel has the jars."""


def find_jar(project: Project | None, line: str) -> Path | None:
    """Return the jar for a Spark line: the one of the wheel, else the one that ``project`` has built."""
    places = [PACKAGED / _name(line), *([] if project is None else [jar(project, line)])]
    return next((path for path in places if path.is_file()), None)


def missing(project: Project) -> list[str]:
    """Return the Spark line that needs a build: that of the installed pyspark, if its jar is missing or outdated.

    Empty if there is nothing to build from, or no supported pyspark.
    """
    line = installed_line()
    if line not in LINES or not (MODULE / "pom.xml").is_file():
        return []
    return [] if _stamp(jar(project, line)) == fingerprint() else [line]


def jar(project: Project, line: str) -> Path:
    """Return the path of a jar in the project's cache."""
    return project.cache / "jars" / "reader" / _name(line)


def build(project: Project, line: str, say: Callable[[str], None]) -> Path:
    """Build the jar of a Spark line and return its path. Raises Refusal with Maven's first error."""
    started = time.monotonic()
    say(f"Spark reader for Spark {line}: building with Maven")
    maven.run([f"-Dspark.line={line}", "-Dquick", "-DskipTests", "package"], MODULE, "build the Spark reader")
    target = jar(project, line)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".partial")
    shutil.copyfile(MODULE / "target" / line / target.name, partial)
    partial.replace(target)
    _stamp_file(target).write_text(fingerprint(), encoding="utf-8")
    say(f"Spark reader for Spark {line}: {target.stat().st_size >> 20} MiB in {time.monotonic() - started:.0f} s")
    return target


def fingerprint() -> str:
    """Return a checksum of everything that the jars are built from."""
    digest = hashlib.sha256()
    for path in (MODULE / "pom.xml", *sorted((MODULE / "src" / "main").rglob("*"))):
        if path.is_file():
            digest.update(str(path.relative_to(MODULE)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _name(line: str) -> str:
    return f"spark-reader-{line}.jar"


def installed_line() -> str | None:
    """Return the line of the installed pyspark, without importing it."""
    try:
        return ".".join(version("pyspark").split(".")[:2])
    except PackageNotFoundError:
        return None


def _stamp_file(target: Path) -> Path:
    return target.with_suffix(".sha256")


def _stamp(target: Path) -> str | None:
    stamp = _stamp_file(target)
    return stamp.read_text(encoding="utf-8") if target.is_file() and stamp.is_file() else None


def main() -> int:
    """Build the outdated jars of all lines."""
    project = find_project()
    try:
        for line in LINES:
            if _stamp(jar(project, line)) != fingerprint():
                build(project, line, print)
    except Refusal as refusal:
        print(refusal, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
