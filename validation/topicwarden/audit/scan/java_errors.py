"""Finds the reason in an error of Spark."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError


def root_cause(error: Exception) -> str:
    """Return the first line of the first failure's message.

    Spark wraps the failure of a task several times, with a stack trace in each message.
    """
    cause = error.java_exception if isinstance(error, Py4JJavaError) else None
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    message = str(error) if cause is None else str(cause.getMessage() or cause.getClass().getName())
    return message.strip().partition("\n")[0]
