"""How far Spark is, told while it works."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

Progress = Callable[[float], None]
"""Takes the share that is done, from 0 to 1."""

_INTERVAL_S = 0.2


@contextmanager
def watched(spark: SparkSession, progress: Progress) -> Iterator[None]:
    """Reports the share of the largest stage's tasks that have ended, for as long as the block runs.

    That stage is the one that reads from Kafka; what else there is, is small.
    """
    tracker = spark.sparkContext.statusTracker()
    over = threading.Event()

    def watch() -> None:
        most, done = 0, 0
        while not over.wait(_INTERVAL_S):
            for stage in filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds())):
                if stage.numTasks > most:
                    most, done = stage.numTasks, 0
                if stage.numTasks == most:
                    done = max(done, stage.numCompletedTasks)
            if most:
                progress(done / most)

    thread = threading.Thread(target=watch, name="spark-progress", daemon=True)
    thread.start()
    try:
        yield
        progress(1.0)
    finally:
        over.set()
        thread.join()
