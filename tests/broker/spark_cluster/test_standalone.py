"""Test audits on a standalone Spark cluster, whose executors see neither the driver's files nor its environment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.spark_cluster.conftest import ENTRY_POINT, RECORDS, as_expected, audit, report
from tests.conftest import REPOSITORY
from tests.support.clients import until
from tests.support.projects import BIN, Shell
from tests.support.spark_cluster import WORKERS, SparkCluster, spark_cluster
from topicwarden.audit.scan.spark_session import configure
from topicwarden.model.project import Project
from topicwarden.report.audit.formats import FILES as FILES_OF_A_REPORT

JOB = REPOSITORY / "validation" / "audit.py"


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkCluster]:
    with spark_cluster() as running_cluster:
        yield running_cluster


def test_a_cluster_reports_the_same_as_one_machine_even_if_an_executor_is_killed(
    project: Project, cluster: SparkCluster
) -> None:
    command = [BIN / "topicwarden", "audit", "--stack", "dev", "--format", "json", "--history", "none"]
    with subprocess.Popen(
        [*map(str, command), "--master", cluster.url, "--rate", "300KiB"],
        cwd=project.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as auditing:
        until(lambda: len(cluster.executors()) == WORKERS, "all executors run")
        os.kill(cluster.executors()[0], signal.SIGKILL)
        output, errors = auditing.communicate(timeout=240)
    on_cluster = report(auditing.returncode, output, errors)
    local = audit(project, "--master", "local[2]", "--history", "none")
    assert on_cluster == report(local.returncode, local.stdout, local.stderr)
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
    assert sorted(path.name for path in reports.iterdir() if not path.name.startswith(".")) == sorted(FILES_OF_A_REPORT)


def test_an_address_that_spark_cannot_write_is_refused_before_the_scan(project: Project) -> None:
    done = audit(project, "--master", "local[1]", "--history", "none", "--out", "gopher://reports.example.com/a")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot write the report to gopher://reports.example.com/a: No FileSystem for scheme" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("master", "reason"), [("sparkle://a:1", "Could not parse Master URL"), ("yarn", "HADOOP_CONF_DIR")]
)
def test_an_unknown_spark_master_is_reported_in_one_line(project: Project, master: str, reason: str) -> None:
    done = audit(project, "--master", master, "--history", "none")
    assert (done.returncode, done.stdout) == (2, "")
    assert "topicwarden: Spark could not start: " in done.stderr
    assert reason in done.stderr
    assert "report this bug" not in done.stderr
