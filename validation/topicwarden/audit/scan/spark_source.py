"""Start Spark only when the audit first needs it: an audit without new records needs no JVM."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

SparkSource: TypeAlias = Callable[[], SparkSession]
"""A function that returns the session; the first call may start it, and raises Refusal if that fails."""


def source_of(spark: SparkSession | SparkSource) -> SparkSource:
    """Return ``spark`` as a source; a running session is returned by each call."""
    if not isinstance(spark, SparkSession):
        return spark
    return lambda: spark


class SparkOnce:
    """A source that calls ``start`` the first time, and then returns the same session.

    ``ready`` is called before the session is first returned.
    """

    def __init__(self, start: SparkSource, ready: Callable[[], object] = lambda: None) -> None:
        self._start, self._ready = start, ready
        self._session: SparkSession | None = None

    def __call__(self) -> SparkSession:
        if self._session is None:
            session = self._start()
            self._ready()
            self._session = session
        return self._session


def literal(spark: SparkSession, rows: list[dict[str, Any]], schema: str) -> DataFrame:
    """Return ``rows`` as a table with the columns of ``schema``.

    The table is one SQL literal, because ``createDataFrame`` would start Python workers on the executors.
    """
    text = F.from_json(F.lit(json.dumps(rows)), F.lit(f"array<struct<{schema}>>"))
    return spark.range(1).select(F.inline(text))
