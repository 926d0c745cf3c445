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
    """Reports the share of the first stage's tasks that have ended, for as long as the block runs.

    The first stage is the one that reads from Kafka; what follows is small.
    """
    tracker = spark.sparkContext.statusTracker()
    over = threading.Event()

    def watch() -> None:
        best = 0.0
        while not over.wait(_INTERVAL_S):
            stages = [tracker.getStageInfo(stage) for stage in sorted(tracker.getActiveStageIds())[:1]]
            for stage in stages:
                if stage is not None and stage.numTasks:
                    best = max(best, stage.numCompletedTasks / stage.numTasks)
                    progress(best)

    thread = threading.Thread(target=watch, name="spark-progress", daemon=True)
    thread.start()
    try:
        yield
        progress(1.0)
    finally:
        over.set()
        thread.join()
