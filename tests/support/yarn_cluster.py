"""Run Hadoop's own YARN daemons in one process, with one node."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support import maven_jars
from tests.support.clients import until

_PROGRAM = Path(__file__).parent / "yarn" / "MiniCluster.java"
START_S, END_S = 120.0, 30.0
"""The longest time for the daemons to start, and to end."""


@dataclass(frozen=True)
class YarnCluster:
    """A running cluster. ``folder`` has its data and its logs."""

    folder: Path

    @property
    def configuration(self) -> Path:
        """The folder for ``HADOOP_CONF_DIR``."""
        return self.folder / "conf"

    def driver_output(self) -> str:
        """Return the standard output and error of every driver that has run."""
        logs = [log for log in sorted(self.folder.rglob("container_*_000001/std*")) if log.is_file()]
        return "\n".join(log.read_text(encoding="utf-8", errors="replace") for log in logs)


@contextmanager
def yarn_cluster(java: Path) -> Iterator[YarnCluster]:
    """Yield a running cluster. ``java`` is the program of a JDK, which compiles ours."""
    jars = maven_jars.provide("yarn")
    with tempfile.TemporaryDirectory(prefix="yarn-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        log = folder / "daemons.log"
        with (
            log.open("wb") as output,
            subprocess.Popen(
                [java, "-Xmx512m", "-cp", f"{jars}/*", _PROGRAM, folder],
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
            ) as process,
        ):
            try:

                def ready() -> bool:
                    text = log.read_text(encoding="utf-8", errors="replace")
                    assert process.poll() is None, text
                    return "\nready\n" in f"\n{text}"

                until(ready, "YARN runs", START_S)
                yield YarnCluster(folder)
            finally:
                assert process.stdin
                process.stdin.close()
                try:
                    process.wait(END_S)
                except subprocess.TimeoutExpired:
                    process.kill()
