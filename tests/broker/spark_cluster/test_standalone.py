"""Test audits on a standalone Spark cluster, whose executors see neither the driver's files nor its environment."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest

from tests.broker.spark_cluster.conftest import ENTRY_POINT, RECORDS, as_expected, audit, report
from tests.conftest import JAVA_OPTIONS, REPOSITORY
from tests.support.clients import until
from tests.support.projects import BIN, Shell
from topicwarden.audit.scan.spark_session import configure
from topicwarden.model.project import Project
from topicwarden.report.audit.formats import FILES as FILES_OF_A_REPORT

MEMORY = "1g"
START_S, END_S = 60.0, 10.0
"""The longest time for a process to start, and to end."""
_STRANGER = "nobody"
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile(r"Successfully registered with master")
_EXECUTOR = "CoarseGrainedExecutorBackend"


@dataclass(frozen=True)
class SparkCluster:
    """A running cluster; ``url`` is for ``--master``. ``folder`` belongs to the user of the worker."""

    url: str
    folder: Path
    worker: subprocess.Popen[bytes]

    def executors(self) -> list[int]:
        """Return the process ids of the executors that run now."""
        return [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if _is_executor(folder, self.worker.pid)]


@contextmanager
def spark_cluster() -> Iterator[SparkCluster]:
    """Yield a cluster with a worker that has one core, and starts an executor again that ends.

    A root user starts master and worker as ``nobody``, who may not read the folders that pytest makes for the driver.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spark-cluster-")))
        if os.geteuid() == 0:
            shutil.chown(folder, _STRANGER)
        log = folder / "master.log"
        _start(stack, folder, log, "org.apache.spark.deploy.master.Master", "--port", "0")
        url = _wait_for(log, _MASTER)
        options = ("--cores", "1", "--memory", MEMORY, "--work-dir", str(folder / "work"))
        log = folder / "worker.log"
        worker = _start(stack, folder, log, "org.apache.spark.deploy.worker.Worker", *options, url)
        _wait_for(log, _REGISTERED)
        yield SparkCluster(url, folder, worker)


def _start(stack: ExitStack, folder: Path, log: Path, program: str, *options: str) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    variables = {"PATH": os.environ["PATH"], "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    # Executors inherit the variables of their worker.
    variables |= {name: os.environ[name] for name in ("JAVA_HOME", JAVA_OPTIONS) if name in os.environ}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [home / "bin" / "spark-class", program, "--host", "127.0.0.1", "--webui-port", "0", *options],
            cwd=folder,
            env={
                **variables,
                "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC",
                "PYSPARK_PYTHON": sys.executable,
            },
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


def _is_executor(folder: Path, worker: int) -> bool:
    """Return whether a process (its folder in ``/proc``) is an executor that the process ``worker`` has started."""
    try:
        parent = re.search(r"PPid:\s+(\d+)", (folder / "status").read_text())
        return parent is not None and int(parent[1]) == worker and _EXECUTOR in (folder / "cmdline").read_text()
    except OSError:  # it has ended
        return False


JOB = REPOSITORY / "validation" / "audit.py"


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkCluster]:
    with spark_cluster() as running_cluster:
        yield running_cluster


def test_a_cluster_reports_the_same_as_one_machine_even_if_an_executor_is_killed(
    project: Project, cluster: SparkCluster, local_report: dict[str, Any]
) -> None:
    command = [BIN / "topicwarden", "audit", "--stack", "dev", "--format", "json", "--history", "none"]
    with subprocess.Popen(
        [*map(str, command), "--master", cluster.url, "--rate", "300KiB"],
        cwd=project.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as auditing:
        until(lambda: len(cluster.executors()) == 1, "the executor runs")
        os.kill(cluster.executors()[0], signal.SIGKILL)
        output, errors = auditing.communicate(timeout=240)
    on_cluster = report(auditing.returncode, output, errors)
    assert on_cluster == local_report
    assert on_cluster["scanned_records"] == 2 * RECORDS


def test_a_history_that_only_the_driver_can_write_is_refused(
    project: Project, cluster: SparkCluster, tmp_path: Path
) -> None:
    done = audit(project, "--master", cluster.url, "--history", str(tmp_path / "history"))
    assert done.returncode == 2
    assert "Spark's executors cannot write there" in done.stderr
    assert "--history none" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_cluster_without_room_for_an_executor_is_named_so(cluster: SparkCluster) -> None:
    code = f"""
from pyspark.sql import SparkSession
from topicwarden.audit.scan.executors import require_executor
from topicwarden.model.problem import Refusal
spark = SparkSession.builder.master({cluster.url!r}).config("spark.executor.memory", "900g").getOrCreate()
try:
    require_executor(spark, print, limit_s=3)
except Refusal as refusal:
    print(refusal)
spark.stop()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.startswith("Spark got no executor within 3s: "), done.stdout + done.stderr
    assert "no worker with 900g of memory" in done.stdout


@pytest.mark.nightly("The suite keeps spark-submit, and histories on one machine.")
def test_spark_submit_uses_a_history_on_a_shared_disk(project: Project, cluster: SparkCluster) -> None:
    configure(project)  # as `topicwarden sandbox env` does
    # The driver and the executors are different users, who share folders that all may write.
    command = (
        f"umask 0; exec {BIN / 'spark-submit'} --master {cluster.url} "
        f"--conf spark.hadoop.fs.permissions.umask-mode=000 {JOB} "
        f"--stack dev --format json --since last --history {cluster.folder / 'history'}"
    )
    shell = Shell(project.root, {"SPARK_CONF_DIR": str(project.spark_conf), "PYSPARK_PYTHON": sys.executable})
    first, second = (
        report(done.returncode, done.stdout, done.stderr) for done in [shell.run("sh", "-c", command) for _ in range(2)]
    )
    assert (first["scanned_records"], second["scanned_records"]) == (2 * RECORDS, 0)
    assert (len(first["trend"]), len(second["trend"])) == (0, 1)


@pytest.mark.nightly("The suite keeps audits on the cluster, and spark-submit on one machine.")
def test_spark_submit_needs_neither_jars_nor_a_configuration_of_ours(
    project: Project, cluster: SparkCluster, tmp_path: Path
) -> None:
    """Run like a driver of YARN or Kubernetes: another folder, a project that it may only read, reports at an
    address.
    """
    configuration, reports = tmp_path / "conf", tmp_path / "reports"
    configuration.mkdir()
    variables = {"SPARK_CONF_DIR": str(configuration), "PYSPARK_PYTHON": sys.executable}
    done = Shell(tmp_path, variables).run(
        BIN / "spark-submit", "--master", cluster.url, ENTRY_POINT,
        *("--stack", "dev", "--format", "json", "--history", "none"),
        *("--project", str(project.root), "--out", reports.as_uri()),
    )  # fmt: skip
    values = report(done.returncode, done.stdout[done.stdout.index("{\n") :].partition("\n}\n")[0] + "\n}", done.stderr)
    assert values["scanned_records"] == 2 * RECORDS
    written = json.loads((reports / "report.json").read_text(encoding="utf-8"))
    assert as_expected(written) == values
    files = {path.name for path in reports.iterdir() if not path.name.startswith(".")}
    assert files == {*FILES_OF_A_REPORT, "usage.html"}


@pytest.mark.usefixtures("spark")
def test_an_address_that_spark_cannot_write_is_refused_before_the_scan(project: Project) -> None:
    options = ("--format", "json", "--history", "none", "--out", "gopher://reports.example.com/a")
    done = Shell(project.root).in_process("audit", "--stack", "dev", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot write the report to gopher://reports.example.com/a: No FileSystem for scheme" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.nightly("The suite keeps one master that Spark refuses.", stays=("sparkle",))
@pytest.mark.parametrize(
    ("master", "reason"),
    [("sparkle://a:1", "Could not parse Master URL"), ("yarn", "HADOOP_CONF_DIR")],
    ids=["sparkle", "yarn"],
)
def test_an_unknown_spark_master_is_reported_in_one_line(project: Project, master: str, reason: str) -> None:
    done = audit(project, "--master", master, "--history", "none")
    assert (done.returncode, done.stdout) == (2, "")
    assert "topicwarden: Spark could not start: " in done.stderr
    assert reason in done.stderr
    assert "report this bug" not in done.stderr
