"""Archive the classes that Spark loads, so that the next session starts in half the time.

Spark's JVM needs most of its start for loading and verifying ten thousand classes. Class data sharing maps them from a
file instead (JEP 350, Dynamic CDS Archives). The JVM ignores an archive of another Java, or of another class path.

The JVM writes an archive when it ends, which takes longer than many audits. So no audit waits for it: the JVM goes on
after the audit, and the next session puts the complete file in its place.
"""

from __future__ import annotations

import hashlib
import os
import shutil
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

    ``recording``: the session writes it when it ends.
    """

    path: Path
    recording: bool

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
        """Return the archive as one to record; no other session records it for a while, even if the JVM is killed."""
        self._partial.touch()
        return replace(self, recording=True)

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


def spark_classes(project: Project, jars: Sequence[Path], *, record: bool) -> SparkClasses | None:
    """Return the archive for a local session with ``jars``; None if there is no place for one.

    The session writes it if it is missing, if no other session does, and if this cache has served a session before or
    with ``record``. A cache that lives for one audit, as on a CI runner, would never repay the seconds that this takes.
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
        archive = SparkClasses(path, recording=False)
        archive.complete()
        record = not path.is_file() and (record or (seen.is_file() and not archive.attempted))
        seen.touch()
        return archive.attempt() if record else archive
    except OSError:
        return None


def _java() -> Path | None:
    """Return the ``java`` that Spark's scripts run."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=os.path.join(home, "bin") if home else None)  # noqa: PTH118
    return Path(found).resolve() if found else None


def _identity(file: Path) -> tuple[str, int, int]:
    status = file.stat()
    return str(file.resolve()), status.st_size, status.st_mtime_ns
