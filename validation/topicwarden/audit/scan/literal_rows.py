"""Create a small Spark table from rows in the driver."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def literal(spark: SparkSession, rows: list[dict[str, Any]], schema: str) -> DataFrame:
    """Return ``rows`` as a table with the columns of ``schema``.

    The table is one SQL literal, because ``createDataFrame`` would start Python workers on the executors.
    """
    text = F.from_json(F.lit(json.dumps(rows)), F.lit(f"array<struct<{schema}>>"))
    return spark.range(1).select(F.inline(text))
