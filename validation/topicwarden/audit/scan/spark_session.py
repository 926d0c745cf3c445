"""Start the Spark session with our reader on its class path and little logging."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from topicwarden.audit.scan import reader_jars
from topicwarden.child_processes import defer_signals
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project

_MEMORY = {
    "spark.driver.memory": "2g",
    # A batch job needs throughput more than short pauses.
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
}
"""For a local session; ``benchmarks/audit.py --memory`` measures how much of it is used."""

_END_S = 5.0
"""The longest time, in seconds, that a JVM takes to end after its connection broke."""

_LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex{short}
"""


def configure(project: Project) -> None:
    """Write Spark's configuration for this project: ``spark-defaults.conf`` and ``log4j2.properties``."""
    defaults = {
        "spark.jars": ",".join(map(str, reader_jars.jars(project))),
        **_MEMORY,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    project.spark_conf.mkdir(parents=True, exist_ok=True)
    lines = (f"{name} {value}\n" for name, value in defaults.items())
    (project.spark_conf / "spark-defaults.conf").write_text("".join(lines), encoding="utf-8")
    (project.spark_conf / "log4j2.properties").write_text(_LOGGING, encoding="utf-8")


@contextmanager
def spark_session(project: Project, master: str | None = None) -> Iterator[SparkSession]:
    """Return a session on ``master`` (default: the master of spark-submit, or else all cores of this machine).

    An active session is used unchanged and stays open. Raises ``Refusal`` if Spark's JVM ends within the context.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    spark = _start(project, master)
    try:
        yield spark
    except (Py4JError, ConnectionError) as error:
        if isinstance(error, Py4JJavaError) or not _ended(spark):
            raise
        raise Refusal(
            "Spark's JVM ended before the audit did, so there is no report: it was killed, or had too little memory "
            f"(spark.driver.memory); see {project.cache / 'spark' / 'spark.log'}"
        ) from error
    finally:
        with suppress(Py4JError, ConnectionError):  # a JVM that has ended cannot be stopped
            spark.stop()


def _ended(spark: SparkSession) -> bool:
    """Return whether the JVM that this process started has ended."""
    process = getattr(spark.sparkContext._gateway, "proc", None)
    if process is None:  # spark-submit started the JVM, which then also ends this process
        return True
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_S)
    return process.poll() is not None


def _start(project: Project, master: str | None) -> SparkSession:
    submitted = "SPARK_ENV_LOADED" in os.environ  # spark-submit sets the master and the configuration
    builder = SparkSession.builder.appName("topicwarden audit").config("spark.sql.session.timeZone", "UTC")
    if not submitted:
        configure(project)
        os.environ["SPARK_CONF_DIR"] = str(project.spark_conf)
    if master or not submitted:
        builder = builder.master(master or "local[*]")
    log = project.cache / "spark" / "spark.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        # A signal between the start of the JVM and the read of its gateway port would leave the JVM running.
        with _stderr_to(log), defer_signals():
            return builder.getOrCreate()
    except (PySparkException, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise Refusal(f"Spark could not start: {reason}; it needs Java 17 or later; see {log}") from error


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Make ``log`` the standard error of the JVM started in this context; our own is restored afterwards."""
    ours = os.dup(2)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)
