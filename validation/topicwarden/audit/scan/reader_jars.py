"""The jar of the Spark reader: a data source that reads exact offset ranges.

The wheel contains the jar. In a source checkout, its set-up builds it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from topicwarden.audit.scan.offset_ranges import FORMAT
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.toolchain import spark_reader


def jars(project: Project) -> list[Path]:
    """Return the jars that a Spark session needs. Raises Refusal if there is none for the installed pyspark."""
    if reason := spark_reader.problem(project, pyspark.__version__):
        raise Refusal(reason)
    return [path for path in [spark_reader.find_jar(project)] if path]


def attach(spark: SparkSession, project: Project) -> None:
    """Add the reader to a session that another program started; nothing if its classes are there.

    So a job needs no ``--jars``. Spark's class loader for such jars has a public ``addURL`` (``MutableURLClassLoader``;
    ``SparkSubmit`` and YARN's ``ApplicationMaster`` run the driver with it). Raises Refusal for another class loader,
    and if the JVM's version of Spark is not supported.
    """
    if reason := spark_reader.problem(project, spark.version):
        raise Refusal(f"Spark's JVM has another version than pyspark {pyspark.__version__}: {reason}")
    if _has_reader(spark):
        return
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for path in jars(project):
        try:
            loader.addURL(jvm.java.net.URI(path.absolute().as_uri()).toURL())
        except Py4JError as error:
            raise Refusal(
                f"this Spark session takes no more jars: install {path} as a library of the cluster, "
                "or name it with --jars or spark.jars"
            ) from error
        spark.sparkContext._jsc.addJar(str(path.absolute()))


def _has_reader(spark: SparkSession) -> bool:
    found: Any = spark._jvm
    for name in FORMAT.split("."):
        found = getattr(found, name)
    return isinstance(found, JavaClass)  # else a JavaPackage
