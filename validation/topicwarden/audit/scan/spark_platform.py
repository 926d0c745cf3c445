"""Refuse platforms of Spark that an audit cannot use.

This module imports no PySpark, so that the refusal comes before any work.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from topicwarden.model.problem import Refusal

DATABRICKS = "DATABRICKS_RUNTIME_VERSION"
"""Databricks sets this variable on its machines: ``17.3`` on a cluster, ``client.4.9`` on serverless compute.

Source: https://docs.databricks.com/aws/en/compute/serverless/dependencies
"""
_GATEWAY = "PYSPARK_GATEWAY_PORT"
"""A JVM that starts Python sets this variable (``PythonRunner``), in the client mode and the cluster mode of
spark-submit. ``pyspark/java_gateway.py`` reads it."""

_CONNECT = ("SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED")
"""Variables that make ``SparkSession.builder`` create a session of Spark Connect (``pyspark/sql/session.py``)."""
_API_MODE = {"SPARK_API_MODE": "connect", "SPARK_CONNECT_MODE": "1"}
"""The same, for one value each. The first one that is set counts (``pyspark/util.py``)."""


def submitted(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether Spark already runs and has its master and its settings: spark-submit, or a Databricks cluster."""
    return _GATEWAY in environment or on_databricks(environment)


def on_databricks(environment: Mapping[str, str] = os.environ) -> bool:
    return DATABRICKS in environment


def refuse_unsupported(master: str | None = None, environment: Mapping[str, str] = os.environ) -> None:
    """Raise Refusal if the audit would get a session of Spark Connect.

    Such a session runs in another process, and has no JVM here. The audit needs the JVM: it adds up totals with the
    classes of its reader, and reads the history with Hadoop's file systems.
    """
    if origin := next(_connect_origins(master, environment), None):
        raise Refusal(_refusal(origin))


def refuse_connect_session(session: object) -> None:
    """Raise Refusal if ``session`` is one of Spark Connect, which a platform may create without a sign of it."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise Refusal(_refusal("this platform offers only Spark Connect"))


def _connect_origins(master: str | None, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield what selects Spark Connect, as the second half of a sentence."""
    if master is not None and master.startswith("sc://"):
        yield f"--master {master} is an address of Spark Connect"
    if environment.get(DATABRICKS, "").startswith("client."):
        yield "Databricks serverless compute offers only Spark Connect"
    for name in _CONNECT:
        if name in environment:
            yield f"the environment variable {name} selects Spark Connect"
    mode = next((name for name in _API_MODE if name in environment), None)
    if mode and environment[mode].lower() == _API_MODE[mode]:
        yield f"the environment variable {mode}={environment[mode]} selects Spark Connect"
    if not on_databricks(environment) and _installed("databricks.connect"):
        yield "the Python package databricks-connect replaces pyspark with Spark Connect"
    if _installed("pyspark") and not _installed("pyspark.core"):
        yield "the Python package pyspark-client offers only Spark Connect"


def _refusal(origin: str) -> str:
    return (
        f"the audit needs a classic Spark session, and {origin}; "
        "run it with `topicwarden audit`, with spark-submit, or on a Databricks cluster with dedicated access mode"
    )


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is not installed
        return False
