"""The jar of the Spark reader: a data source that reads exact offset ranges.

The wheel contains the jar. In a source checkout ``topicwarden sandbox install`` builds it.
"""

from __future__ import annotations

from pathlib import Path

import pyspark

from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.toolchain.spark_reader import LINES, MODULE, find_jar

FORMAT = "io.topicwarden.reader.source.OffsetRangeSource"
"""The name of the data source for ``spark.read.format``."""


def jars(project: Project) -> list[Path]:
    """Return the jars that a Spark session needs. Raises Refusal if there is none for the installed pyspark."""
    line = ".".join(pyspark.__version__.split(".")[:2])
    if line not in LINES:
        raise Refusal(
            f"the audit supports Spark {', '.join(LINES)}, found pyspark {pyspark.__version__}; "
            "run `pip install 'topicwarden[audit]'`"
        )
    if path := find_jar(project):
        return [path]
    if (MODULE / "pom.xml").is_file():
        raise Refusal("the Spark reader is not built; run `topicwarden sandbox install`")
    raise Refusal(
        "this installation of topicwarden has no Spark reader: it was not installed from a wheel; "
        "run `pip install --force-reinstall --only-binary topicwarden 'topicwarden[audit]'`"
    )
