"""Summarise the committed records of topics in one scan, for an inference of their contracts.

Each task returns a summary of bounded size for each topic (``TopicSummary.java``), and the reader's notes on each
range, which have the records that break what is declared. The reader's code merges the summaries in the driver.

No library does this. json-schema-inferrer needs all values at once. The schemas of GenSON merge, but do not count what
breaks a stricter rule, and have no bound. Enumerations need exact counts of few texts; the frequent items of
DataSketches are estimates of many.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.offset_ranges import READ_COMMITTED, OffsetRange, pack_tasks, read_ranges
from topicwarden.audit.scan.reader_notes import Note
from topicwarden.kafka.connect.connection import Connection


@dataclass(frozen=True)
class ScannedTopic:
    """The summary of one topic as JSON, and the reader's notes by partition. ``summary`` None: it has no records."""

    summary: str | None
    notes: Mapping[int, list[Note]]


def summarize(
    spark: SparkSession,
    connection: Connection,
    ranges: list[OffsetRange],
    contracts: Contracts,
    partitions: Mapping[str, int],
    *,
    shows_values: bool = False,
    personal_names: Collection[str] = (),
) -> dict[str, ScannedTopic]:
    """Return the summary of each topic with ``ranges``. ``partitions`` has their numbers of partitions.

    ``contracts`` is what the records are judged by. Without ``shows_values``, no summary has a value of a record.
    Fields with one of ``personal_names`` look like personal data.
    """
    settings = json.dumps(
        {
            "show_values": shows_values,
            "salt": secrets.token_hex(16),
            "names": sorted(personal_names),
            "partitions": dict(partitions),
        }
    )
    tasks = pack_tasks(spark, ranges)
    rows = read_ranges(
        spark, connection, tasks, READ_COMMITTED, contracts, counted="summaries", counting=settings
    ).collect()
    by_part = {each.part: each for each in ranges}
    notes: dict[str, dict[int, list[Note]]] = {each.topic: {} for each in ranges}
    summaries: dict[str, list[Note]] = {}
    for row in rows:
        if row["note"] is None:
            summaries.setdefault(row["topic"], []).append(row["summary"])
        else:
            read = by_part[row["part"]]
            notes[read.topic].setdefault(read.partition, []).append(json.loads(row["note"]))
    jvm: Any = spark._jvm
    merge = jvm.io.topicwarden.reader.inference.TopicSummary.merge
    merged = {topic: str(merge(each, settings)) for topic, each in summaries.items()}
    return {topic: ScannedTopic(merged.get(topic), each) for topic, each in notes.items()}
