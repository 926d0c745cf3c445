"""Test the remedies in the message about a failed scan."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JJavaError

from topicwarden.audit.scan.java_errors import remedy, root_cause

_LOST = "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: "


@pytest.mark.parametrize(
    "message",
    [
        f"{_LOST}ExecutorLostFailure (executor 1 exited caused by one of the running tasks)",
        "org.apache.spark.shuffle.MetadataFetchFailedException: missing an output location for shuffle 0",
        f"{_LOST}FetchFailed(null, shuffleId=0, mapIndex=-1, mapId=-1, reduceId=0)",
        f"{_LOST}Lost task 0.0 in stage 3.0 (TID 3) (host): java.lang.OutOfMemoryError: Java heap space",
        f"{_LOST}java.io.IOException: No space left on device",
    ],
)
def test_a_spark_failure_suggests_memory_and_disk(message: str) -> None:
    assert remedy(RuntimeError(message)).startswith("Spark lost an executor or its files: give executors more memory")


def test_a_cluster_failure_suggests_to_check_the_cluster() -> None:
    lost = f"{_LOST}Lost task 0.0 in stage 3.0 (TID 3) (host executor driver): TimeoutException: no answer in 15 s"
    assert remedy(RuntimeError(lost)) == "check that the cluster is reachable, then audit again"


class _Thrown(Py4JJavaError):  # type: ignore[misc]  # py4j has no types
    """A Java exception ``name`` with a ``message`` and no cause."""

    def __init__(self, name: str, message: str | None) -> None:
        of_class = SimpleNamespace(getName=lambda: name)
        self.java_exception = SimpleNamespace(
            getCause=lambda: None, getMessage=lambda: message, getClass=lambda: of_class
        )


@pytest.mark.parametrize(
    ("name", "message", "text"),
    [
        (
            "java.lang.NoClassDefFoundError",
            "javax/ws/rs/ext/RuntimeDelegateImpl",
            "Spark has no class javax.ws.rs.ext.RuntimeDelegateImpl: add its library to Spark",
        ),
        ("java.io.IOException", "no route\nat line 1", "no route"),
        ("java.io.EOFException", None, "java.io.EOFException"),
    ],
)
def test_the_root_cause_is_one_line(name: str, message: str | None, text: str) -> None:
    assert root_cause(_Thrown(name, message)) == text
