"""Archive the classes that Spark loads, so that the next session starts in half the time.

Spark's JVM needs most of its start for loading and verifying ten thousand classes. Class data sharing maps them from a
file instead (JEP 350, Dynamic CDS Archives). The JVM ignores an archive of another Java, or of another class path.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspark

from topicwarden.model.project import Project


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
        """Put the archive in its place after the JVM has written it, and delete those that it replaces."""
        if not self._partial.is_file():
            return
        for other in self.path.parent.glob("*.jsa"):
            other.unlink(missing_ok=True)
        self._partial.replace(self.path)

    @property
    def _partial(self) -> Path:
        return self.path.with_suffix(f".{os.getpid()}.partial")


def spark_classes(project: Project, jars: Sequence[Path], *, record: bool) -> SparkClasses | None:
    """Return the archive for a local session with ``jars``; None if there is no place for one.

    The session writes it if it is missing, and if this cache has served a session before or with ``record``. A cache
    that lives for one audit, as on a CI runner, would never repay the seconds that this takes.
    """
    java = _java()
    if java is None:
        return None
    spark = Path(pyspark.__path__[0]).resolve()
    identity = [pyspark.__version__, str(spark), *map(_identity, [java, *jars])]
    folder = (project.tools_cache / "jars" / "spark-classes").resolve()
    path = folder / f"classes-{hashlib.sha256(repr(identity).encode()).hexdigest()[:16]}.jsa"
    seen = path.with_suffix(".seen")
    try:
        (folder / "empty").mkdir(parents=True, exist_ok=True)
        record = not path.is_file() and (record or seen.is_file())
        seen.touch()
    except OSError:
        return None
    return SparkClasses(path, record)


def _java() -> Path | None:
    """Return the ``java`` that Spark's scripts run."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=os.path.join(home, "bin") if home else None)  # noqa: PTH118
    return Path(found).resolve() if found else None


def _identity(file: Path) -> tuple[str, int, int]:
    status = file.stat()
    return str(file.resolve()), status.st_size, status.st_mtime_ns
