"""Run a standalone Spark cluster: a master and two workers, whose user may not read the driver's files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tests.support.clients import until

WORKERS, MEMORY = 2, "1g"
START_S, END_S = 60.0, 10.0
"""The longest time for a process to start, and to end."""
_STRANGER = "nobody"
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile(r"Successfully registered with master")
_EXECUTOR = "CoarseGrainedExecutorBackend"


@dataclass(frozen=True)
class SparkCluster:
    """A running cluster; ``url`` is for ``--master``. ``folder`` belongs to the user of the workers."""

    url: str
    folder: Path
    workers: tuple[subprocess.Popen[bytes], ...]

    def executors(self) -> list[int]:
        """Return the process ids of the executors that run now."""
        parents = {worker.pid for worker in self.workers}
        return [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if _is_executor(folder, parents)]


@contextmanager
def spark_cluster() -> Iterator[SparkCluster]:
    """Yield a cluster with two workers, each with one core and a folder of its own.

    A root user starts them as ``nobody``, who may not read the folders that pytest makes for the driver.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spark-cluster-")))
        if os.geteuid() == 0:
            shutil.chown(folder, _STRANGER)
        log = folder / "master.log"
        _start(stack, folder, log, "org.apache.spark.deploy.master.Master", "--port", "0")
        url = _wait_for(log, _MASTER)
        options = ("--cores", "1", "--memory", MEMORY, "--work-dir", str(folder / "work"))
        workers = []
        for number in range(WORKERS):
            log = folder / f"worker-{number}.log"
            workers.append(_start(stack, folder, log, "org.apache.spark.deploy.worker.Worker", *options, url))
            _wait_for(log, _REGISTERED)
        yield SparkCluster(url, folder, tuple(workers))


def _start(stack: ExitStack, folder: Path, log: Path, program: str, *options: str) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    variables = {"PATH": os.environ["PATH"], "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    if "JAVA_HOME" in os.environ:
        variables["JAVA_HOME"] = os.environ["JAVA_HOME"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [home / "bin" / "spark-class", program, "--host", "127.0.0.1", "--webui-port", "0", *options],
            cwd=folder,
            env={**variables, "SPARK_DAEMON_MEMORY": "256m", "PYSPARK_PYTHON": sys.executable},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            user=_STRANGER if os.geteuid() == 0 else None,
        )
    stack.callback(_end, process)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_for(log: Path, line: re.Pattern[str]) -> str:
    """Return the last group of ``line`` as soon as the log has it."""
    found: list[str] = []

    def appeared() -> bool:
        found[:] = [match[match.lastindex or 0] for match in line.finditer(log.read_text(errors="replace"))]
        return bool(found)

    until(appeared, f"{log} has {line.pattern}", START_S)
    return found[0]


def _is_executor(folder: Path, parents: set[int]) -> bool:
    """Return whether a process (its folder in ``/proc``) is an executor that one of ``parents`` has started."""
    try:
        parent = re.search(r"PPid:\s+(\d+)", (folder / "status").read_text())
        return parent is not None and int(parent[1]) in parents and _EXECUTOR in (folder / "cmdline").read_text()
    except OSError:  # it has ended
        return False
