"""Test audits on YARN, whose containers have folders of their own. The commands are those of docs/how-to/spark.md."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.broker.spark_cluster.conftest import ENTRY_POINT, RECORDS, as_expected, report
from tests.conftest import JAVA_OPTIONS, REPOSITORY
from tests.support import maven_jars
from tests.support.clients import until
from tests.support.projects import BIN, Shell
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain

pytestmark = pytest.mark.nightly("The suite keeps the standalone cluster.")

_PROGRAM = REPOSITORY / "tests" / "support" / "yarn" / "MiniCluster.java"
START_S, END_S = 120.0, 30.0
"""The longest time for the daemons to start, and to end."""
LIMIT_S = 300
"""The longest silence between the driver and its containers. Spark waits for 100 and 120 s."""


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


@pytest.fixture(scope="module")
def yarn(tools: Toolchain) -> Iterator[YarnCluster]:
    with yarn_cluster(tools.java) as running:
        yield running


@pytest.fixture
def archives(project: Project, tmp_path: Path) -> Path:
    """Return a folder with ``project.zip``, and with a stand-in for the archive of an environment.

    The stand-in has one program, which starts this environment's Python. The node is this machine.
    """
    folder = tmp_path / "archives"
    for name in ("Pulumi.yaml", "topics", "stacks"):
        source = project.root / name
        if source.is_dir():
            shutil.copytree(source, folder / "project" / name)
        else:
            (folder / "project").mkdir(parents=True, exist_ok=True)
            shutil.copy(source, folder / "project" / name)
    shutil.make_archive(str(folder / "project"), "zip", folder / "project")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    with tarfile.open(folder / "environment.tar.gz", "w:gz") as archive:
        archive.add(python, "bin/python")
    return folder


def submit(yarn: YarnCluster, archives: Path, mode: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run ``spark-submit`` for one executor with the smallest memory."""
    shell = Shell(archives, {"HADOOP_CONF_DIR": str(yarn.configuration), "PYSPARK_PYTHON": sys.executable})
    python = "spark.yarn.appMasterEnv.PYSPARK_PYTHON=./environment/bin/python"
    java = os.environ[JAVA_OPTIONS]
    return shell.run(
        *(str(BIN / "spark-submit"), "--master", "yarn", "--deploy-mode", mode, "--num-executors", "1"),
        *("--driver-memory", "512m", "--executor-memory", "512m", "--conf", "spark.yarn.maxAppAttempts=1"),
        *("--conf", f"spark.yarn.am.waitTime={LIMIT_S}s", "--conf", f"spark.network.timeout={LIMIT_S}s"),
        *("--conf", f"spark.executorEnv.{JAVA_OPTIONS}={java}"),
        *("--conf", f"spark.yarn.appMasterEnv.{JAVA_OPTIONS}={java}"),
        *("--conf", f"spark.yarn.stagingDir={yarn.folder.as_uri()}/staging"),
        *("--archives", "environment.tar.gz#environment,project.zip#project", "--conf", python),
        *(str(ENTRY_POINT), "--stack", "dev", "--history", "none", *options),
    )


def test_a_driver_in_a_container_reports_the_same_as_one_machine(
    project: Project, yarn: YarnCluster, archives: Path, local_report: dict[str, Any], tmp_path: Path
) -> None:
    reports = tmp_path / "reports"
    done = submit(yarn, archives, "cluster", "--project", "project", "--out", reports.as_uri())
    assert done.returncode == 1, done.stderr
    assert (reports / "report.json").is_file(), yarn.driver_output()
    on_yarn = as_expected(json.loads((reports / "report.json").read_text(encoding="utf-8")))
    assert on_yarn["findings"] == local_report["findings"]
    assert on_yarn["topics"] == local_report["topics"]
    assert on_yarn["scanned_records"] == 2 * RECORDS


def test_an_audit_with_the_driver_on_the_edge_node(project: Project, yarn: YarnCluster, archives: Path) -> None:
    done = submit(yarn, archives, "client", "--project", str(project.root), "--format", "json")
    assert done.returncode == 1, done.stdout + done.stderr
    values = report(done.returncode, done.stdout[done.stdout.index("{\n") :], done.stderr)
    assert values["scanned_records"] == 2 * RECORDS
