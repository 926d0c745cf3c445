"""Download Kafka's jars with Maven, from the poms in the folder ``maven``."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from topicwarden.toolchain import maven

SETS = ("kafka",)

_POMS = Path(__file__).parent / "maven"
_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_STAMP = ".pom.sha256"


def folder(cache: Path, name: str) -> Path:
    """Return the folder that contains all jars of a set, without subfolders."""
    return cache / "jars" / name


def missing(cache: Path) -> list[str]:
    """Return the sets that are not installed, or that were downloaded from another version of their pom."""
    return [name for name in SETS if _stamp(folder(cache, name)) != _fingerprint(name)]


def provide(cache: Path, name: str, say: Callable[[str], None], poms: Path = _POMS) -> Path:
    """Return the folder of a set. Download the jars if they are missing or are from another version of the pom.

    ``poms`` contains a folder with the name of the set and its ``pom.xml``. Raises Refusal like ``fetch``.
    """
    if _stamp(folder(cache, name)) != _fingerprint(name, poms):
        fetch(cache, name, say, poms)
    return folder(cache, name)


def fetch(cache: Path, name: str, say: Callable[[str], None], poms: Path = _POMS) -> None:
    """Download the jars of a set into its folder: all of them or none.

    Raises Refusal with Maven's first error.
    """
    began = time.monotonic()
    target = folder(cache, name)
    partial = target.with_name(f".{name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    say(f"jars of {name}: downloading with Maven")
    arguments = [_GOAL, "-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
    maven.run(arguments, poms / name, f"download the jars of {name}")
    (partial / _STAMP).write_text(_fingerprint(name, poms), encoding="utf-8")
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)
    say(f"jars of {name}: {len(list(target.glob('*.jar')))} in {time.monotonic() - began:.0f} s")


def _fingerprint(name: str, poms: Path = _POMS) -> str:
    return hashlib.sha256((poms / name / "pom.xml").read_bytes()).hexdigest()


def _stamp(target: Path) -> str | None:
    stamp = target / _STAMP
    return stamp.read_text(encoding="utf-8") if stamp.is_file() else None
