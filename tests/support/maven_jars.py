"""Download jars that only tests need into the repository's cache, with Maven."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock

from tests.conftest import REPOSITORY
from topicwarden.toolchain import maven_jars

_POMS = Path(__file__).parent / "maven"


def provide(name: str, poms: Path = _POMS) -> Path:
    """Return the folder with the jars of ``<name>/pom.xml`` in ``poms``; download them if missing or outdated."""
    cache = REPOSITORY / ".cache"
    with FileLock(cache / f".{name}.lock"):  # two workers of one run may need them at the same time
        return maven_jars.provide(cache, name, print, poms)
