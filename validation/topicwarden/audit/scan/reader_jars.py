"""The jar of the Spark reader: a data source that reads exact offset ranges.

The wheel contains the jar. In a source checkout ``topicwarden sandbox install`` builds it.
"""

from __future__ import annotations

from pathlib import Path

import pyspark

from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.toolchain import spark_reader

FORMAT = "io.topicwarden.reader.source.OffsetRangeSource"
"""The name of the data source for ``spark.read.format``."""


def jars(project: Project) -> list[Path]:
    """Return the jars that a Spark session needs. Raises Refusal if there is none for the installed pyspark."""
    if reason := spark_reader.problem(project, pyspark.__version__):
        raise Refusal(reason)
    return [path for path in [spark_reader.find_jar(project)] if path]
