"""The Spark session: the connector on its class path, and no chatter."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import __version__ as spark_version
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from topicwarden.problem import Refusal
from topicwarden.project import Project

CONNECTOR = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark_version}"


@contextmanager
def spark_session(project: Project, master: str | None = None) -> Iterator[SparkSession]:
    """A session on ``master`` (default: what spark-submit was given, else all cores of this machine).

    The connector comes from the project's Spark configuration where `make setup` wrote one, else from
    Maven. A session that was there before is used as it is, and left running.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    spark = _start(project, master)
    try:
        yield spark
    finally:
        spark.stop()


def _start(project: Project, master: str | None) -> SparkSession:
    submitted = "SPARK_ENV_LOADED" in os.environ  # spark-submit has chosen the master and the jars
    builder = SparkSession.builder.appName("topicwarden audit").config("spark.sql.session.timeZone", "UTC")
    configuration = project.cache / "spark" / "conf"
    if (configuration / "spark-defaults.conf").is_file():
        os.environ.setdefault("SPARK_CONF_DIR", str(configuration))
    elif not submitted:
        builder = builder.config("spark.jars.packages", CONNECTOR).config("spark.ui.enabled", "false")
    if master or not submitted:
        builder = builder.master(master or "local[*]")
    log = project.cache / "spark" / "spark.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _stderr_to(log):
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
