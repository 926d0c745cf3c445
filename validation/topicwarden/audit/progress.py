"""How far Spark is, told while it works."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

Progress = Callable[[float], None]
"""Takes the share that is done, from 0 to 1, which only grows."""

_INTERVAL_S = 0.2


@contextmanager
def watched(spark: SparkSession, progress: Progress, offsets: int) -> Iterator[None]:
    """Reports the share of ``offsets`` that was passed, for as long as the block runs.

    Where executors are processes of their own, which do not tell while they read, it is the share of the largest
    stage's tasks that have ended. That stage is the one that reads from Kafka; what else there is, is small.
    """
    tracker = spark.sparkContext.statusTracker()
    over = threading.Event()
    before = _passed(spark)

    def watch() -> None:
        share, most, done = 0.0, 0, 0
        while not over.wait(_INTERVAL_S):
            for stage in filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds())):
                if stage.numTasks > most:
                    most, done = stage.numTasks, 0
                if stage.numTasks == most:
                    done = max(done, stage.numCompletedTasks)
            passed = (_passed(spark) - before) / max(1, offsets)
            share = max(share, min(1.0, passed), done / most if done < most else 0.0)  # a small stage ends as well
            progress(share)

    thread = threading.Thread(target=watch, name="spark-progress", daemon=True)
    thread.start()
    try:
        yield
        progress(1.0)
    finally:
        over.set()
        thread.join()


def _passed(spark: SparkSession) -> int:
    """The offsets that readers in Spark's own process have passed so far."""
    jvm: Any = spark._jvm
    return int(jvm.io.topicwarden.reader.source.OffsetRangeSource.offsetsRead())
