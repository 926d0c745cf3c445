"""The jars of Kafka's brokers as Maven resolves them, and their lock: path, size and hash of each one.

``python -m topicwarden.toolchain.jar_lock`` resolves ``maven/kafka/pom.xml`` with Maven and writes the lock again.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from topicwarden.model.problem import Refusal

_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of Maven's JVM. A build ends before the optimising compiler, which takes half of its CPU time, is of use."""
_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

_NO_NETWORK: Final = re.compile(
    r"Unknown host|UnknownHostException|Connection (?:refused|timed out|reset)|[Cc]onnect timed out|"
    r"Network is unreachable|No route to host|Temporary failure in name resolution|Remote host terminated"
)
"""Reasons of Java and of Maven's HTTP client for a server that does not answer."""
_REPOSITORY: Final = re.compile(r"from/to \S+ \((https?://[^)]*)\)")


def run_maven(arguments: Sequence[str], folder: Path, purpose: str) -> None:
    """Run ``mvn`` with ``arguments`` in ``folder``, without a terminal.

    Raises Refusal with Maven's first error. ``purpose`` completes "Maven could not …".
    """
    command = ["mvn", "-B", "-q", *arguments]
    variables = {"MAVEN_OPTS": _OPTIONS, **os.environ}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        output = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
        raise Refusal(
            f"Maven could not {purpose}: {_unreachable(output) or _first_error(output)}; "
            "check the network, or the mirror in ~/.m2/settings.xml, and run `topicwarden sandbox install` again",
            output,
        )


def _unreachable(output: str) -> str | None:
    """Return that the repository does not answer, if that is what Maven says in many words; else None."""
    if _NO_NETWORK.search(output) is None:
        return None
    repository = _REPOSITORY.search(output)
    return f"{repository[1] if repository else 'its repository'} cannot be reached"


def _first_error(plain: str) -> str:
    errors = [line.removeprefix("[ERROR]").strip() for line in plain.splitlines() if line.startswith("[ERROR]")]
    errors = [error for error in errors if error and not error.endswith(":")]  # without headings
    return errors[0] if errors else plain.strip()[-300:] or "Maven printed no reason"


def copy(project: Path, target: Path, *, repository_layout: bool = False) -> None:
    """Copy the jars that the pom in the folder ``project`` needs at run time into the folder ``target``.

    ``repository_layout``: with the folders of a Maven repository. Raises Refusal with Maven's first error.
    """
    target.mkdir(parents=True, exist_ok=True)
    layout = ["-Dmdep.useRepositoryLayout=true"] if repository_layout else []
    arguments = [_GOAL, "-DincludeScope=runtime", f"-DoutputDirectory={target.resolve()}", *layout]
    run_maven(arguments, project, f"download the jars of {project.name}")


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

    def found_in(self, folder: Path) -> Path | None:
        """Return this jar in ``folder``, either directly or as in a Maven repository; None if it is not there."""
        return next(filter(self.matches, (folder / self.name, folder / self.path)), None)


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
            copy(POM, Path(folder), repository_layout=True)
        except Refusal as refusal:
            print(refusal, file=sys.stderr)
            return 2
        LOCK.write_text(lock_text(Path(folder)), encoding="utf-8")
    print(f"{LOCK}: {len(locked_jars())} jars")
    return 0


if __name__ == "__main__":
    sys.exit(main())
