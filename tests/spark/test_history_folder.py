"""Test the history in a folder whose name is no plain text in a URI, or is a pattern for Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from topicwarden.audit.history.store import HistoryStore
from topicwarden.model.project import Project
from topicwarden.specs.stacks.history_address import history_address


@pytest.mark.parametrize("name", ["My Proj", "jürgen", "50%20", "a[1]", "{a,b}", "a*?", "back\\slash", "#1+2"])
def test_spark_reads_what_it_has_written(spark: SparkSession, tmp_path: Path, name: str) -> None:
    root = tmp_path / name
    address = history_address(Project(root), "dev", None)
    assert address
    store = HistoryStore(spark, address)
    store.write("keys", "0000000000001-a", spark.range(10))
    store.complete("keys", "0000000000001-a")
    assert store.read("keys", store.parts("keys"), "id long").count() == 10
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert list(root.glob(".cache/history/dev/v4/keys/0000000000001-a/*.parquet"))
