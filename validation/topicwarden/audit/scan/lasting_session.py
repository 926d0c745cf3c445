"""A Spark session for many audits, which starts when one of them first needs it, and again after its JVM has ended."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Final

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from topicwarden.audit.scan.spark_session import session_on_demand
from topicwarden.model.project import Project

_END_S: Final = 5.0
"""The longest time, in seconds, that a killed JVM takes to end."""


class LastingSession:
    """A source of the session; see ``SparkSource``. One thread uses it."""

    def __init__(self, project: Project, master: str | None, note: Callable[[str], None]) -> None:
        self._project, self._master, self._note = project, master, note
        self._resources = ExitStack()
        self._session: SparkSession | None = None

    def __call__(self) -> SparkSession:
        """Return the session, and start it if it does not run. Raises what ``session_on_demand`` does."""
        if self._session is None:
            self._session = session_on_demand(self._resources, self._project, self._master, self._note)()
        return self._session

    def close(self) -> None:
        """Stop Spark, if it was started."""
        self._session = None
        resources, self._resources = self._resources, ExitStack()
        with suppress(Exception):  # its JVM may have ended
            resources.close()

    def after_failure(self) -> None:
        """Let the next call start Spark again if the session can no longer be used."""
        if self._session is None:  # it did not start, or only half
            self.close()
        elif not _is_usable(self._session):
            self.close()
            _forget_jvm()


def kill_jvm() -> None:
    """Kill the JVM that this process started, if any, from any thread, without a wait for its tasks and its archive."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None:
        process.kill()


def _is_usable(session: SparkSession) -> bool:
    """Return whether ``session`` can run a job: its JVM runs, and its context is not stopped."""
    try:
        return not session.sparkContext._jsc.sc().isStopped()
    except (Py4JError, OSError, AttributeError):
        return False


def _forget_jvm() -> None:
    """End the JVM that this process started, if it still runs, so that the next session starts a new one.

    PySpark would use the connection to an ended JVM again. Nothing happens to a JVM that ``spark-submit`` started.
    """
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if gateway is None or process is None:
        return
    with suppress(Py4JError, OSError):
        gateway.shutdown()
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_S)
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
