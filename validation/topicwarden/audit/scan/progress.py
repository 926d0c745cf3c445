"""Report the progress of a Spark scan while it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

Progress = Callable[[float], None]
"""A callback for the share of the work that is done, from 0 to 1; the share never decreases."""

_INTERVAL_S = 0.2


@contextmanager
def report_progress(spark: SparkSession, progress: Progress, offsets: int) -> Iterator[None]:
    """Report the share of ``offsets`` that has been read, while the ``with`` block runs.

    Executors in other processes do not report offsets while they read. Then the share is the share of finished tasks
    of the largest stage. That stage reads from Kafka; the other stages are small.
    """
    tracker = spark.sparkContext.statusTracker()
    finished = threading.Event()
    passed_before = _passed(spark)

    def watch() -> None:
        share, largest, done = 0.0, 0, 0
        while not finished.wait(_INTERVAL_S):
            for stage in filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds())):
                if stage.numTasks > largest:
                    largest, done = stage.numTasks, 0
                if stage.numTasks == largest:
                    done = max(done, stage.numCompletedTasks)
            read_share = (_passed(spark) - passed_before) / max(1, offsets)
            # A finished stage does not count: it may be a small one that runs before the scan.
            task_share = done / largest if done < largest else 0.0
            share = max(share, min(1.0, read_share), task_share)
            progress(share)

    thread = threading.Thread(target=watch, name="spark-progress", daemon=True)
    thread.start()
    try:
        yield
        progress(1.0)
    finally:
        finished.set()
        thread.join()


def _passed(spark: SparkSession) -> int:
    """Return the number of offsets that readers in the driver's process have read so far."""
    jvm: Any = spark._jvm
    return int(jvm.io.topicwarden.reader.source.OffsetRangeSource.offsetsRead())
