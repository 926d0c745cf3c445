"""Install Spark's own Kafka source, for comparison."""

from __future__ import annotations

import os
from pathlib import Path

from topicwarden.audit.scan import reader_jars
from topicwarden.model.project import Project
from topicwarden.toolchain import maven_jars


def use_spark_kafka(project: Project) -> None:
    """Add Spark's Kafka source to the next Spark session of this process, in addition to the Spark reader."""
    folder = maven_jars.provide(project.cache, "spark-kafka", print, poms=Path(__file__).parent)
    every = [*reader_jars.jars(project), *sorted(folder.glob("*.jar"))]
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--jars {','.join(map(str, every))} pyspark-shell"
