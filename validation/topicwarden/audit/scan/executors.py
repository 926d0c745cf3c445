"""Wait for the executors of a Spark cluster, with a limit: a request that no worker can fulfil stays open."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark import InheritableThread
from pyspark.sql import SparkSession

from topicwarden.model.problem import Refusal
from topicwarden.model.units import DURATION

LIMIT_S: Final = 600.0
"""How long an audit waits for its first executor."""
_REMARK_S: Final = 30.0
"""When, and how often, the wait is explained."""
_POLL_S: Final = 0.2
_GROUP: Final = "topicwarden: first executor"


def require_executor(spark: SparkSession, remark: Callable[[str], None], limit_s: float = LIMIT_S) -> None:
    """Return when an executor runs; at once for a local master.

    ``remark`` receives a line each half minute until then. Raises Refusal after ``limit_s`` seconds.
    """
    scheduler: Any = spark.sparkContext._jsc.sc()
    if scheduler.isLocal():
        return
    ended = Event()

    def run() -> None:
        """Run a job, because dynamic allocation requests executors for jobs only."""
        spark.sparkContext.setJobGroup(_GROUP, "wait for an executor", interruptOnCancel=True)
        with suppress(Py4JJavaError):  # it is cancelled, or the executor is lost: the audit itself tells
            spark.range(1).count()
        ended.set()

    InheritableThread(target=run, name="first-executor", daemon=True).start()
    started = remarked = time.monotonic()
    while not ended.wait(_POLL_S):
        now = time.monotonic()
        if now - started >= limit_s:
            spark.sparkContext.cancelJobGroup(_GROUP)
            raise Refusal(f"Spark got no executor within {DURATION.format(round(1000 * limit_s))}: {_request(spark)}")
        if now - remarked >= _REMARK_S:
            remarked = now
            remark(f"Spark has no executor yet: {_request(spark)}")


def _request(spark: SparkSession) -> str:
    """Return what the audit asks of the cluster manager, and what to do."""
    conf = spark.sparkContext.getConf()
    memory, cores = conf.get("spark.executor.memory", "1g"), conf.get("spark.executor.cores", "all cores")
    return (
        f"the cluster at {spark.sparkContext.master} has no worker with {memory} of memory and "
        f"spark.executor.cores={cores} to spare; request less (spark.executor.memory), or look at its queue"
    )
