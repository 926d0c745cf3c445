"""Find the jar of the Spark reader: the one of the wheel, or the one that the set-up of a source checkout builds."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from topicwarden.model.project import Project

LINES = ("4.0", "4.1", "4.2")
"""The supported Spark lines, as the profiles of the module's ``pom.xml`` define them."""

BUILD = "run `python3 -m tools.set_up all` in the checkout"
"""What to do in a source checkout without the jar."""

MODULE = Path(__file__).parents[2] / "spark-reader"

PACKAGED = Path(__file__).with_name("spark-reader.jar")
"""Where the wheel has the jar."""


def find_jar(project: Project) -> Path | None:
    """Return the jar: the one of the wheel, else the one that was built from the sources; None if there is none."""
    if PACKAGED.is_file():
        return PACKAGED
    built = jar(project)
    return built if built.is_file() else None


def problem(project: Project, pyspark: str | None) -> str | None:
    """Return why audits have no reader with this version of pyspark, and what to do; None if they have one."""
    if pyspark is None or ".".join(pyspark.split(".")[:2]) not in LINES:
        return (
            f"the audit supports Spark {', '.join(LINES)}, found pyspark {pyspark or 'none'}; "
            "run `pip install 'topicwarden[audit]'`"
        )
    if find_jar(project):
        return None
    if (MODULE / "pom.xml").is_file():
        return f"the Spark reader is not built; {BUILD}"
    return (
        "this installation of topicwarden has no Spark reader: it was not installed from a wheel; "
        "install one, which make wheel builds in a clone of topicwarden"
    )


def outdated(project: Project) -> bool:
    """Return whether the jar must be built: there are sources and a pyspark, and no jar that was built from them."""
    return find_spec("pyspark") is not None and is_missing(project)


def is_missing(project: Project) -> bool:
    """Return whether there are sources, and no jar that was built from them."""
    if not (MODULE / "pom.xml").is_file():
        return False
    stamp = stamp_file(jar(project))
    return not jar(project).is_file() or not stamp.is_file() or stamp.read_text(encoding="utf-8") != fingerprint()


def jar(project: Project) -> Path:
    """Return the path of the built jar. It is compiled for the newest line, and has the same classes for every line."""
    return project.tools_cache / "jars" / "reader" / _name(LINES[-1])


def fingerprint() -> str:
    """Return a checksum of everything that the jars are built from."""
    digest = hashlib.sha256()
    for path in (MODULE / "pom.xml", *sorted((MODULE / "src" / "main").rglob("*"))):
        if path.is_file():
            digest.update(str(path.relative_to(MODULE)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _name(line: str) -> str:
    return f"spark-reader-{line}.jar"


def stamp_file(target: Path) -> Path:
    """Return the file with the fingerprint of the sources from which the jar ``target`` was built."""
    return target.with_suffix(".sha256")
