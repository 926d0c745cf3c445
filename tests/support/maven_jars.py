"""Jars that only tests need, fetched with Maven into the repository's cache."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import REPOSITORY
from topicwarden.toolchain import jars

_POMS = Path(__file__).parent / "maven"


def provide(name: str) -> Path:
    """Return the folder of the jars of ``maven/<name>/pom.xml``, fetched if it is missing or of another pom."""
    return jars.provide(REPOSITORY / ".cache", name, print, poms=_POMS)
