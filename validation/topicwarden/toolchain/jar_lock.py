"""Read the locked jars: every jar of Kafka's brokers, with its path in a Maven repository, its size and its hash.

``python -m topicwarden.toolchain.jar_lock`` resolves ``maven/kafka/pom.xml`` with Maven and writes the lock again.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from topicwarden.model.problem import Refusal
from topicwarden.toolchain import maven_jars

POM = Path(__file__).parent / "maven" / "kafka"
"""The folder of the pom that the lock is resolved from."""
LOCK = POM / "jars.lock"

_HEAD = (
    "# Written by `python -m topicwarden.toolchain.jar_lock`: SHA-256, bytes, path in a Maven repository.\n# pom.xml: "
)


@dataclass(frozen=True)
class LockedJar:
    """A jar with its SHA-256, its size in bytes, and its path in a Maven repository."""

    sha256: str
    size: int
    path: str

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name

    def matches(self, file: Path) -> bool:
        """Return whether ``file`` is this jar; False if it cannot be read."""
        try:
            return file.stat().st_size == self.size and checksum(file) == self.sha256
        except OSError:
            return False


def locked_jars() -> list[LockedJar]:
    """Return the locked jars, in the order of their paths."""
    lines = (line.split() for line in LOCK.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return [LockedJar(sha256, int(size), path) for sha256, size, path in lines]


def checksum(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def lock_text(repository: Path) -> str:
    """Return the text of the lock for all jars in ``repository``, which has the layout of a Maven repository."""
    files = sorted((file.relative_to(repository).as_posix(), file) for file in repository.rglob("*.jar"))
    lines = [f"{checksum(file)} {file.stat().st_size} {path}\n" for path, file in files]
    return "".join([f"{_HEAD}{checksum(POM / 'pom.xml')}\n", *lines])


def main() -> int:
    """Write the lock. Return 2 if Maven cannot resolve the pom."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            maven_jars.copy(POM, Path(folder), repository_layout=True)
        except Refusal as refusal:
            print(refusal, file=sys.stderr)
            return 2
        LOCK.write_text(lock_text(Path(folder)), encoding="utf-8")
    print(f"{LOCK}: {len(locked_jars())} jars")
    return 0


if __name__ == "__main__":
    sys.exit(main())
