"""Infer contracts that nobody declared from real records, and hold later records against them."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.campaigns.inference.comparison import compare
from tests.campaigns.inference.drawn_topics import DrawnTopics, cluster
from tests.support.projects import own_cache
from topicwarden.toolchain import Toolchain

SEED, TOPICS = 44, 8


def test_inferred_contracts_hold_for_later_records_and_show_no_value(
    tools: Toolchain, spark: SparkSession, tmp_path: Path
) -> None:
    with own_cache(tmp_path) as folder, cluster(tools, folder) as servers:
        comparison = compare(DrawnTopics.create(servers, "", SEED, TOPICS), folder)
    assert comparison.holds, comparison.table()
    assert not comparison.false, comparison.table()
