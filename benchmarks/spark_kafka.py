"""Spark's own Kafka source, for comparison."""

from __future__ import annotations

import os
from pathlib import Path

from topicwarden.audit.scan import reader_jars
from topicwarden.model.project import Project
from topicwarden.toolchain import jars


def use_spark_kafka(project: Project) -> None:
    """Add Spark's Kafka source to the next session of this process, beside the Spark reader."""
    folder = jars.provide(project.cache, "spark-kafka", print, poms=Path(__file__).parent)
    every = [*reader_jars.jars(project), *sorted(folder.glob("*.jar"))]
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--jars {','.join(map(str, every))} pyspark-shell"
