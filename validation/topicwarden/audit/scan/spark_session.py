"""Start the Spark session with our reader on its class path and little logging."""

from __future__ import annotations

import atexit
import functools
import logging
import os
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from topicwarden.audit.scan import reader_jars
from topicwarden.audit.scan.executors import require_executor
from topicwarden.audit.scan.java_errors import root_cause
from topicwarden.audit.scan.spark_classes import SparkClasses, record_later, spark_classes
from topicwarden.audit.scan.spark_platform import on_databricks, refuse_connect_session, refuse_unsupported, submitted
from topicwarden.audit.scan.spark_source import SparkOnce, SparkSource
from topicwarden.child_processes import defer_signals
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.scratch_folder import scratch_folder
from topicwarden.toolchain.prerequisites import require_java

_MEMORY = "2g"
"""For a local session; ``benchmarks/audit.py --memory`` measures how much of it is used."""
JAVA_OPTIONS = "-XX:+UseParallelGC -Xlog:disable -Xlog:all=error:stderr"
"""A batch job needs throughput more than short pauses. A JVM logs warnings to standard output, which has the report."""

_END_S = 5.0
"""The longest time, in seconds, that a JVM takes to end after its connection broke."""
_ARCHIVE_S = 120.0
"""The longest time, in seconds, that a JVM takes to archive its classes."""

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
    """Write this project's configuration for ``spark-submit``: ``spark-defaults.conf`` and ``log4j2.properties``."""
    project.spark_conf.mkdir(parents=True, exist_ok=True)
    lines = (f"{name} {value}\n" for name, value in _settings(reader_jars.jars(project), JAVA_OPTIONS).items())
    (project.spark_conf / "spark-defaults.conf").write_text("".join(lines), encoding="utf-8")
    _logging(project).write_text(_LOGGING, encoding="utf-8")


def _settings(jars: Sequence[Path], java_options: str) -> dict[str, str]:
    return {
        "spark.jars": ",".join(map(str, jars)),
        "spark.driver.memory": _MEMORY,
        "spark.driver.extraJavaOptions": java_options,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Spark keeps the last plans, jobs and tasks also without its pages: by default, 1,000 plans.
        "spark.sql.ui.retainedExecutions": "50",
        "spark.ui.retainedJobs": "50",
        "spark.ui.retainedStages": "50",
        "spark.ui.retainedTasks": "1000",
    }


def _logging(project: Project) -> Path:
    return project.spark_conf / "log4j2.properties"


@contextmanager
def spark_session(
    project: Project,
    master: str | None = None,
    *,
    archive_classes: bool = False,
) -> Iterator[SparkSession]:
    """Return a session on ``master`` (default: the master of spark-submit, or else all cores of this machine).

    An active session stays open. A session that this process did not start gets the reader's jar if it has none.
    ``archive_classes``: archive the classes of a new session, and wait for that. Without it, another process does so
    when this one ends, if the archive is due. Raises ``Refusal`` for a session of Spark Connect, and if Spark's JVM
    ends within the context.
    """
    refuse_unsupported(master)
    running = SparkSession.getActiveSession()
    if running is not None:
        reader_jars.attach(running, project)
        yield running
        return
    with _py4j_muted():
        spark, archive = _start(project, master, archive_classes)
        try:
            reader_jars.attach(spark, project)
            yield spark
        except (Py4JError, ConnectionError) as error:
            if isinstance(error, Py4JJavaError) or not _ended(spark):
                raise
            raise Refusal(
                "Spark's JVM ended before the audit did, so there is no report: it was killed, or had too little "
                f"memory (spark.driver.memory); see {_log_of(project)}"
            ) from error
        finally:
            with suppress(Py4JError, ConnectionError):  # a JVM that has ended cannot be stopped
                if not on_databricks():  # all jobs of a Databricks cluster share one SparkContext
                    spark.stop()
                if archive is not None and archive.recording:
                    _end_jvm()
                    archive.complete()
        if archive is not None and archive.due:
            _record_at_exit(project)


@contextmanager
def _py4j_muted() -> Iterator[None]:
    """Drop what Py4J logs to the root logger: a JVM that has ended, with a traceback. It raises the error as well.

    Without a handler, ``logging`` would add one to the root logger of the program that calls topicwarden.
    """
    root, handler = logging.getLogger(), logging.NullHandler()

    def drop(record: logging.LogRecord) -> bool:
        return Path(record.pathname).parent.name != "py4j"

    root.addHandler(handler)
    root.addFilter(drop)
    try:
        yield
    finally:
        root.removeFilter(drop)
        root.removeHandler(handler)


def session_on_demand(
    resources: ExitStack, project: Project, master: str | None, note: Callable[[str], None]
) -> SparkSource:
    """Return a source that starts a session with the first call, and waits for an executor.

    The session lasts as long as ``resources``. ``note`` receives lines about waits. The source raises what
    ``spark_session`` and ``require_executor`` do.
    """

    def start() -> SparkSession:
        session = resources.enter_context(spark_session(project, master))
        require_executor(session, note)
        return session

    return SparkOnce(start)


@functools.cache  # once in each process
def _record_at_exit(project: Project) -> None:
    """Record the archive when this process has printed everything, and its exit code is known."""
    atexit.register(record_later, project)


def archive_spark_classes(project: Project, say: Callable[[str], None], master: str | None = None) -> None:
    """Archive the classes of a local session that reads, groups and writes.

    Nothing happens if they are archived, or if another process does so.
    """
    archive = spark_classes(project, reader_jars.jars(project))
    if archive is None or archive.path.is_file() or archive.attempted:
        return
    began = time.monotonic()
    with scratch_folder() as folder, spark_session(project, master, archive_classes=True) as spark:
        rows = spark.range(100).select(F.to_json(F.struct("id")).alias("text"), (F.col("id") % 3).alias("group"))
        rows.write.parquet(f"{folder}/rows")
        spark.read.parquet(f"{folder}/rows").groupBy("group").agg(F.max_by("text", "group")).collect()
    say(f"Spark's classes: archived in {time.monotonic() - began:.0f} s, so that audits start faster")


def _end_jvm() -> None:
    """Make the JVM that this process started write its archive and end, and wait for that."""
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if gateway is None or process is None:
        return
    gateway.shutdown()
    process.stdin.close()  # PythonGatewayServer ends with its standard input
    with suppress(subprocess.TimeoutExpired):
        process.wait(_ARCHIVE_S)
    SparkContext._gateway = SparkContext._jvm = None


def _ended(spark: SparkSession) -> bool:
    """Return whether the JVM that this process started has ended."""
    process = getattr(spark.sparkContext._gateway, "proc", None)
    if process is None:  # spark-submit started the JVM, which then also ends this process
        return True
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_S)
    return process.poll() is not None


def _start(project: Project, master: str | None, archive_now: bool) -> tuple[SparkSession, SparkClasses | None]:
    builder = SparkSession.builder.appName("topicwarden audit").config("spark.sql.session.timeZone", "UTC")
    try:
        if submitted():
            return _submitted_session(builder.master(master) if master else builder), None
        require_java()  # else pyspark shows the output of its own shell script
        return _own_session(builder.master(master or "local[*]"), project, archive_now)
    except (PySparkException, RuntimeError, Py4JJavaError) as error:
        reason = None if submitted() else _reason_in(_own_log(project))
        needs = "" if reason or isinstance(error, Py4JJavaError) else "; it needs Java 17 or later"
        raise Refusal(f"Spark could not start: {reason or root_cause(error)}{needs}; see {_log_of(project)}") from error


def _submitted_session(builder: SparkSession.Builder) -> SparkSession:
    # spark-submit prints the warnings of PySpark's own imports to standard output, before the report.
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        session = builder.getOrCreate()
    refuse_connect_session(session)
    return session


def _own_session(
    builder: SparkSession.Builder, project: Project, archive_now: bool
) -> tuple[SparkSession, SparkClasses | None]:
    configure(project)
    jars = reader_jars.jars(project)
    archive = spark_classes(project, jars)
    if archive is not None and archive_now:
        archive = archive.attempt()
    os.environ["SPARK_CONF_DIR"] = str(archive.configuration_folder if archive else project.spark_conf)
    log = _own_log(project)
    if archive_now:
        log = log.with_name("archive.log")  # the log of an audit stays
    log.parent.mkdir(parents=True, exist_ok=True)
    _have_an_address()
    # A signal between the start of the JVM and the read of its gateway port would leave the JVM running.
    with _output_to(log), defer_signals():
        return builder.config(map=_own_settings(project, jars, archive)).getOrCreate(), archive


def _have_an_address() -> None:
    """Let Spark use the loopback address if the name of this machine has none, as in some containers."""
    try:
        socket.gethostbyname(socket.gethostname())
    except OSError:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def _own_log(project: Project) -> Path:
    """Return the file with the standard error of a JVM that this process starts."""
    return project.cache / "spark" / "spark.log"


def _reason_in(log: Path) -> str | None:
    """Return the message of the exception that ended the JVM; None if there is none, as without Java."""
    with suppress(OSError):
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith('Exception in thread "main"'):
                return line.partition(": ")[2] or None
    return None


def _log_of(project: Project) -> str:
    """Return where messages send the reader for details."""
    return "the log of the driver" if submitted() else str(_own_log(project))


def _own_settings(project: Project, jars: Sequence[Path], archive: SparkClasses | None) -> dict[str, Any]:
    """Return the settings of a session that this process starts. The reader's classes are archived with Spark's."""
    logging = f"-Dlog4j2.configurationFile={_logging(project).absolute().as_uri()}"
    scratch = f'-Djava.io.tmpdir="{spill_folder()}"'
    options = [JAVA_OPTIONS, logging, scratch, archive.java_options if archive else ""]
    settings = _settings(jars, " ".join(filter(None, options)))
    # The JVM uses an archive only with the class path that it was made with, and caches may share jars by links.
    return {**settings, "spark.driver.extraClassPath": os.pathsep.join(str(jar.resolve()) for jar in jars)}


@functools.cache
def spill_folder() -> Path:
    """Return the folder for what Spark writes while it reads: spilled keys, shuffles, its own copies of jars.

    Spark's default is /tmp, where every user can read these files, and where they stay when the JVM is killed. The
    folder lasts as long as this process, because its JVM does.
    """
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(scratch_folder())


@contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Make ``log`` the standard output and error of the JVM started in this context; ours are restored afterwards.

    A JVM may take a moment longer to end than this process. A pipe that reads our output must not wait for its end.
    """
    sys.stdout.flush()
    ours = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
    try:
        with log.open("wb") as file:
            for descriptor in ours:
                os.dup2(file.fileno(), descriptor)
        yield
    finally:
        for descriptor, copy in ours.items():
            os.dup2(copy, descriptor)
            os.close(copy)
