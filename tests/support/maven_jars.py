"""Download jars that only tests need into the repository's cache, with Maven."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from filelock import FileLock

from tests.conftest import REPOSITORY
from topicwarden.toolchain import maven_jars

_POMS = Path(__file__).parent / "maven"
_STAMP = ".pom.sha256"


def provide(name: str, poms: Path = _POMS) -> Path:
    """Return the folder with the jars of ``<name>/pom.xml`` in ``poms``; download them if missing or outdated."""
    cache, pom = REPOSITORY / ".cache", poms / name / "pom.xml"
    target, partial = cache / "jars" / name, cache / "jars" / f".{name}.partial"
    fingerprint = hashlib.sha256(pom.read_bytes()).hexdigest()
    with FileLock(cache / f".{name}.lock"):  # two workers of one run may need them at the same time
        if not (target / _STAMP).is_file() or (target / _STAMP).read_text(encoding="utf-8") != fingerprint:
            shutil.rmtree(partial, ignore_errors=True)
            maven_jars.copy(pom.parent, partial)
            (partial / _STAMP).write_text(fingerprint, encoding="utf-8")
            shutil.rmtree(target, ignore_errors=True)
            partial.rename(target)
    return target
