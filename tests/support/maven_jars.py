"""Download jars that only tests need into the repository's cache, with Maven."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from filelock import FileLock

from tests.conftest import REPOSITORY
from topicwarden.toolchain import jar_lock

_POMS = Path(__file__).parent / "maven"
_STAMP = ".pom.sha256"


def provide(name: str, poms: Path = _POMS) -> Path:
    """Return the folder with the jars of ``<name>/pom.xml`` in ``poms``; download them if missing or outdated."""
    cache = REPOSITORY / ".cache"
    target, pom = cache / "jars" / name, poms / name / "pom.xml"
    stamp, fingerprint = target / _STAMP, hashlib.sha256(pom.read_bytes()).hexdigest()
    with FileLock(cache / f".{name}.lock"):  # two workers of one run may need them at the same time
        if not stamp.is_file() or stamp.read_text(encoding="utf-8") != fingerprint:
            shutil.rmtree(target, ignore_errors=True)
            jar_lock.copy(pom.parent, target)
            stamp.write_text(fingerprint, encoding="utf-8")
    return target
