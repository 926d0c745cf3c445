"""The Spark session: our reader on its class path, and no chatter."""

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
    # A batch wants throughput, not short pauses.
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
}
"""Of a session on this machine; ``benchmarks/audit.py --memory`` says what of it is taken."""

_END_S = 5.0
"""How long a JVM whose connection broke may take to end."""

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
    """Writes Spark's configuration for this project: ``spark-defaults.conf`` and ``log4j2.properties``."""
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
    """A session on ``master`` (default: what spark-submit was given, else all cores of this machine).

    A session that was there before is used as it is, and left running. Refuses if Spark's JVM ends within the context.
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
            f"(spark.driver.memory); {project.cache / 'spark' / 'spark.log'} says more"
        ) from error
    finally:
        with suppress(Py4JError, ConnectionError):  # of a JVM that is gone there is nothing to stop
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
    submitted = "SPARK_ENV_LOADED" in os.environ  # spark-submit has chosen the master and the configuration
    builder = SparkSession.builder.appName("topicwarden audit").config("spark.sql.session.timeZone", "UTC")
    if not submitted:
        configure(project)
        os.environ["SPARK_CONF_DIR"] = str(project.spark_conf)
    if master or not submitted:
        builder = builder.master(master or "local[*]")
    log = project.cache / "spark" / "spark.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        # A JVM that has started, but whose gateway nobody has read, would live for ever.
        with _stderr_to(log), defer_signals():
            return builder.getOrCreate()
    except (PySparkException, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise Refusal(f"Spark could not start: {reason}; it needs Java 17 or later, and says more in {log}") from error


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """What the JVM inherits as its standard error for as long as it lives, while ours stays for people."""
    ours = os.dup(2)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)
