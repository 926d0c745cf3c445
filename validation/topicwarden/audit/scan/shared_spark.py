"""The Spark session that `topicwarden audit --all-stacks` uses for all stacks, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from pyspark import SparkContext
from pyspark.sql import SparkSession

from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal


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
    """Return whether the JVM that this process started has ended; the next session then starts another one.

    PySpark keeps its gateway, context and session for the whole process, and would connect to the JVM that has ended.
    """
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if process is None or process.poll() is None:
        return False
    SparkContext._gateway = SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    return True
