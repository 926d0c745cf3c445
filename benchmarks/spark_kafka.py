"""Spark's own Kafka source, for comparison."""

from __future__ import annotations

import os
from pathlib import Path

from topicwarden.audit import reader
from topicwarden.project import Project
from topicwarden.sandbox.install import jars


def use_spark_kafka(project: Project) -> None:
    """Add Spark's Kafka source to the next session of this process, beside the Spark reader."""
    folder = jars.provide(project.cache, "spark-kafka", print, poms=Path(__file__).parent)
    every = [*reader.jars(project), *sorted(folder.glob("*.jar"))]
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--jars {','.join(map(str, every))} pyspark-shell"
