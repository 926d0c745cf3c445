"""Forget a JVM that has ended, so that PySpark starts another one for the next session of this process."""

from __future__ import annotations

from pyspark import SparkContext
from pyspark.sql import SparkSession


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
