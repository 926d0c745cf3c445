"""Finds the reason in an error of Spark."""

from __future__ import annotations

from typing import Any, Final

from py4j.protocol import Py4JJavaError

_OF_SPARK: Final = (
    "ExecutorLostFailure",
    "FetchFailed",
    "missing an output location for shuffle",
    "OutOfMemoryError",
    "No space left on device",
)
"""What Spark writes into the message of a job that failed for a reason of its own."""


_NO_CLASS: Final = ("java.lang.ClassNotFoundException", "java.lang.NoClassDefFoundError")


def remedy(error: Exception) -> str:
    """Return what to do about a scan that failed: Spark lost a part of it, or the cluster did not answer."""
    if any(part in str(error) for part in _OF_SPARK):
        return "Spark lost an executor or its files: give executors more memory and disk, then audit again"
    return "check that the cluster is reachable, then audit again"


def root_cause(error: Exception) -> str:
    """Return the first line of the first failure's message.

    Spark wraps the failure of a task several times, with a stack trace in each message.
    """
    cause = error.java_exception if isinstance(error, Py4JJavaError) else None
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    message = str(error) if cause is None else _message(cause)
    return message.strip().partition("\n")[0]


def _message(cause: Any) -> str:
    """Return what a Java exception says."""
    name = str(cause.getClass().getName())
    text = str(cause.getMessage() or name)
    return f"Spark has no class {text.replace('/', '.')}: add its library to Spark" if name in _NO_CLASS else text
