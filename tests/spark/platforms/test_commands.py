"""Test the commands of docs/how-to/spark.md with the parser of real ``spark-submit``, in the JVM of a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import spark_page

PYTHON = "org.apache.spark.deploy.PythonRunner"
PROGRAMS = {
    ("k8s", "cluster"): "org.apache.spark.deploy.k8s.submit.KubernetesClientApplication",
    ("yarn", "cluster"): "org.apache.spark.deploy.yarn.YarnClusterApplication",
    ("yarn", "client"): PYTHON,
    ("k8s", "client"): PYTHON,
    ("spark", "client"): PYTHON,
}
"""What ``spark-submit`` runs, by the kind of master and the deploy mode."""
COMMANDS = list(spark_page.spark_submits())


def parsed(spark: SparkSession, arguments: list[str]) -> Any:
    jvm: Any = spark._jvm
    words, environment = jvm.java.util.ArrayList(), jvm.java.util.HashMap()
    for word in arguments:
        words.add(word)
    environment.put("HADOOP_CONF_DIR", "/etc/hadoop/conf")
    to_scala = jvm.org.apache.spark.api.python.PythonUtils
    return jvm.org.apache.spark.deploy.SparkSubmitArguments(to_scala.toSeq(words), to_scala.toScalaMap(environment))


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_spark_gives_the_audit_its_options(spark: SparkSession, arguments: list[str]) -> None:
    found = parsed(spark, arguments)
    assert found.isPython()
    entry = next(number for number, word in enumerate(arguments) if spark_page.ENTRY_POINT.search(word))
    assert found.childArgs().mkString("\n").splitlines() == arguments[entry + 1 :]


@pytest.mark.parametrize("arguments", [one for one in COMMANDS if "s3://" not in " ".join(one)], ids=" ".join)
def test_spark_runs_the_client_of_the_platform(spark: SparkSession, arguments: list[str]) -> None:
    """Commands with ``s3://`` need Amazon's file system, which only EMR has."""
    jvm: Any = spark._jvm
    found = parsed(spark, arguments)
    plan = jvm.org.apache.spark.deploy.SparkSubmit().prepareSubmitEnvironment(found, jvm.scala.Option.empty())
    kind, mode = found.master().partition(":")[0], found.deployMode() or "client"
    assert plan._4() == PROGRAMS[kind, mode]
    if (kind, mode) == ("yarn", "cluster"):
        archives = plan._3().get("spark.yarn.dist.archives").split(",")
        assert [Path(each).name for each in archives] == ["environment.tar.gz#environment", "project.zip#project"]
