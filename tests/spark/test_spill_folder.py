"""Test where Spark writes while it reads: to a folder that only this user can read."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from topicwarden.audit.scan.spark_session import spill_folder


def test_spark_spills_into_a_folder_that_only_this_user_can_read(spark: SparkSession) -> None:
    assert spark._jvm
    spills = spark._jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager().localDirsString()
    for used in (*spills, spark._jvm.java.lang.System.getProperty("java.io.tmpdir")):
        assert Path(used).is_relative_to(spill_folder())
