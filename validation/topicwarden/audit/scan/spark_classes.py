"""Archive the classes that Spark loads, so that the next session starts in half the time.

Spark's JVM needs most of its start for loading and verifying ten thousand classes. Class data sharing maps them from a
file instead (JEP 350, Dynamic CDS Archives). The JVM ignores an archive of another Java, or of another class path.

A JVM that records an archive starts more slowly, and takes longer to end than many audits. So no audit records one:
when a command has printed its report and ends, it starts a process for that, which has no terminal and the lowest
priority. See ``topicwarden.audit.scan.record_classes``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pyspark

from topicwarden.model.project import Project

_NEXT_ATTEMPT_S = 3_600.0
"""The seconds after which an archive that no JVM has completed is recorded again."""
_NO_MAGIC = bytes(4)
"""The first bytes of an incomplete archive: the JVM writes its header last (``FileMapInfo::open_for_write``)."""


@dataclass(frozen=True)
class SparkClasses:
    """The archive of the classes of one Java, one Spark and one reader.

    ``recording``: the session writes it when it ends. ``due``: it is missing, no process writes it, and later sessions
    will probably use it.
    """

    path: Path
    recording: bool = False
    due: bool = False

    @property
    def configuration_folder(self) -> Path:
        """An empty folder for SPARK_CONF_DIR, which is on the class path: the JVM archives no class path with files."""
        return self.path.parent / "empty"

    @property
    def java_options(self) -> str:
        """The options of the JVM; a Java without class data sharing ignores them."""
        if self.recording:
            return f'-XX:+IgnoreUnrecognizedVMOptions -XX:ArchiveClassesAtExit="{self._partial}"'
        if self.path.is_file():
            return f'-XX:+IgnoreUnrecognizedVMOptions -XX:SharedArchiveFile="{self.path}"'
        return ""

    def complete(self) -> None:
        """Put an archive in its place that a JVM has written, and delete those that it replaces."""
        for partial in self._partials():
            with suppress(FileNotFoundError):  # another session has moved it
                if _is_complete(partial):
                    for other in self.path.parent.glob("*.jsa"):
                        other.unlink(missing_ok=True)
                    partial.replace(self.path)
                elif _is_old(partial):
                    partial.unlink()

    def attempt(self) -> SparkClasses:
        """Return the archive as one to record; no other session records it for a while, even if the JVM is killed.

        Raises OSError if there is no place for it.
        """
        self._partial.touch()
        return replace(self, recording=True, due=False)

    @property
    def attempted(self) -> bool:
        """Return whether a session records the archive, or did so a moment ago."""
        return any(self._partials())

    def _partials(self) -> Iterator[Path]:
        return self.path.parent.glob(f"{self.path.stem}.*.partial")

    @property
    def _partial(self) -> Path:
        return self.path.with_suffix(f".{os.getpid()}.partial")


def _is_complete(archive: Path) -> bool:
    with archive.open("rb") as file:
        return file.read(len(_NO_MAGIC)) not in (b"", _NO_MAGIC)


def _is_old(partial: Path) -> bool:
    return partial.stat().st_mtime < time.time() - _NEXT_ATTEMPT_S


def spark_classes(project: Project, jars: Sequence[Path]) -> SparkClasses | None:
    """Return the archive for a local session with ``jars``; None if there is no place for one.

    It is due if it is missing and this cache has served a session before. A cache that lives for one audit would never
    repay the seconds that recording takes, and a container or a CI job should end with its command.
    """
    java = _java()
    if java is None:
        return None
    spark = Path(pyspark.__path__[0]).resolve()
    folder = (project.tools_cache / "jars" / "spark-classes").resolve()
    identity = [pyspark.__version__, str(spark), str(folder), *map(_identity, [java, *jars])]
    path = folder / f"classes-{hashlib.sha256(repr(identity).encode()).hexdigest()[:16]}.jsa"
    seen = path.with_suffix(".seen")
    try:
        (folder / "empty").mkdir(parents=True, exist_ok=True)
        archive = SparkClasses(path)
        archive.complete()
        due = seen.is_file() and not path.is_file() and not archive.attempted and not _ends_with_this_process()
        seen.touch()
    except OSError:
        return None
    return replace(archive, due=due)


def record_later(project: Project) -> None:
    """Start a process that records the archive, and do not wait for it. It outlives this process and its terminal."""
    command = [sys.executable, "-P", "-m", "topicwarden.audit.scan.record_classes", str(project.root.resolve())]
    null = subprocess.DEVNULL
    with suppress(OSError):  # the next audit starts it
        subprocess.Popen(command, stdin=null, stdout=null, stderr=null, start_new_session=True)


def _ends_with_this_process() -> bool:
    """Return whether this is a CI job, or the first process of a container or a child of it, such as in ``sh -c``."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false") or os.getppid() <= 1


def _java() -> Path | None:
    """Return the ``java`` that Spark's scripts run."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=os.path.join(home, "bin") if home else None)  # noqa: PTH118
    return Path(found).resolve() if found else None


def _identity(file: Path) -> tuple[str, int, int]:
    status = file.stat()
    return str(file.resolve()), status.st_size, status.st_mtime_ns
