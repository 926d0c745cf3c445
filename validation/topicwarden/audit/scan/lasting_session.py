"""A Spark session for many audits, which starts when one of them first needs it, and again after its JVM has ended.

`topicwarden watch` audits with a ``LastingSession``, and `topicwarden audit --all-stacks` with ``SharedSpark``.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from topicwarden.audit.scan.spark_session import session_on_demand
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
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

    PySpark keeps its gateway, context and session for the whole process, and would connect to the JVM that has ended.
    Nothing happens to a JVM that ``spark-submit`` started.
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


class SharedSpark:
    """The Spark session of several audits, which the first audit that needs it starts.

    If the session ends with an error, the next audit starts another one.
    """

    def __init__(self) -> None:
        self._resources = ExitStack()

    def audit(self, audit: Callable[[ExitStack], AuditReport]) -> AuditReport:
        """Return the report of ``audit``, which receives what its Spark session belongs to."""
        if forget_ended_jvm():
            self._resources = ExitStack()
        try:
            return audit(self._resources)
        except Refusal:  # of a stack, or of Spark before it started: the session is as it was
            raise
        except Exception as error:
            self._end_with(error)
            raise

    def close(self) -> None:
        """Stop the session, if one runs."""
        self._resources.close()

    def _end_with(self, error: Exception) -> None:
        """Stop the session, which may raise a better error than ``error``."""
        resources, self._resources = self._resources, ExitStack()
        try:
            resources.__exit__(type(error), error, error.__traceback__)
        finally:
            forget_ended_jvm()


@contextmanager
def shared_spark() -> Iterator[SharedSpark]:
    """Yield the session of several audits; it stops at the end of the block."""
    shared = SharedSpark()
    try:
        yield shared
    finally:
        shared.close()


def forget_ended_jvm() -> bool:
    """Return whether the JVM that this process started has ended; the next session then starts another one."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None or process.poll() is None:
        return False
    _forget_jvm()
    return True
