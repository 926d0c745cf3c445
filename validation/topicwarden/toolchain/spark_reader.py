"""Build the Spark reader from its Maven module. Only a source checkout has the module; the wheel has the jar."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from topicwarden.model.files import replace_file
from topicwarden.model.project import Project
from topicwarden.toolchain import maven_jars

LINES = ("4.0", "4.1", "4.2")
"""The supported Spark lines, as the profiles of the module's ``pom.xml`` define them."""

MODULE = Path(__file__).parents[2] / "spark-reader"

PACKAGED = Path(__file__).with_name("spark-reader.jar")
"""Where the wheel has the jar."""


def find_jar(project: Project | None) -> Path | None:
    """Return the jar: the one of the wheel, else the one that was built from the sources; None if there is none."""
    if PACKAGED.is_file():
        return PACKAGED
    built = None if project is None else jar(project)
    return built if built and built.is_file() else None


def problem(project: Project | None, pyspark: str | None) -> str | None:
    """Return why audits have no reader with this version of pyspark, and what to do; None if they have one."""
    if pyspark is None or ".".join(pyspark.split(".")[:2]) not in LINES:
        return (
            f"the audit supports Spark {', '.join(LINES)}, found pyspark {pyspark or 'none'}; "
            "run `pip install 'topicwarden[audit]'`"
        )
    if find_jar(project):
        return None
    if (MODULE / "pom.xml").is_file():
        return "the Spark reader is not built; run `topicwarden sandbox install`"
    return (
        "this installation of topicwarden has no Spark reader: it was not installed from a wheel; "
        "run `pip install --force-reinstall --only-binary topicwarden 'topicwarden[audit]'`"
    )


def outdated(project: Project) -> bool:
    """Return whether the jar must be built: there are sources and a pyspark, and no jar that was built from them."""
    return find_spec("pyspark") is not None and is_missing(project)


def is_missing(project: Project) -> bool:
    """Return whether there are sources, and no jar that was built from them."""
    if not (MODULE / "pom.xml").is_file():
        return False
    stamp = _stamp_file(jar(project))
    return not jar(project).is_file() or not stamp.is_file() or stamp.read_text(encoding="utf-8") != fingerprint()


def jar(project: Project) -> Path:
    """Return the path of the built jar. It is compiled for the newest line, and has the same classes for every line."""
    return project.tools_cache / "jars" / "reader" / _name(LINES[-1])


def build(project: Project, say: Callable[[str], None]) -> None:
    """Build the jar. Raises Refusal with Maven's first error."""
    started = time.monotonic()
    say("Spark reader: building with Maven")
    target = jar(project)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".partial")
    maven_jars.run([*_options(LINES[-1]), "package"], MODULE, "build the Spark reader")
    shutil.copyfile(MODULE / "target" / LINES[-1] / target.name, partial)
    partial.replace(target)
    replace_file(_stamp_file(target), fingerprint())  # a cache may be a copy with hard links
    say(f"Spark reader: {target.stat().st_size >> 20} MiB in {time.monotonic() - started:.0f} s")


def fingerprint() -> str:
    """Return a checksum of everything that the jars are built from."""
    digest = hashlib.sha256()
    for path in (MODULE / "pom.xml", *sorted((MODULE / "src" / "main").rglob("*"))):
        if path.is_file():
            digest.update(str(path.relative_to(MODULE)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def compile_classes(line: str) -> Path:
    """Compile the classes for a Spark line, without libraries, and return their folder. Raises Refusal otherwise.

    All are compiled again: Maven would keep those of another JDK, or of a source that is gone.
    """
    for former in ("classes", "maven-status"):
        shutil.rmtree(MODULE / "target" / line / former, ignore_errors=True)
    maven_jars.run([*_options(line), "compile"], MODULE, f"compile the Spark reader for Spark {line}")
    return MODULE / "target" / line / "classes"


def _options(line: str) -> list[str]:
    return [f"-Dspark.line={line}", "-Dquick", "-DskipTests"]


def _name(line: str) -> str:
    return f"spark-reader-{line}.jar"


def _stamp_file(target: Path) -> Path:
    return target.with_suffix(".sha256")
