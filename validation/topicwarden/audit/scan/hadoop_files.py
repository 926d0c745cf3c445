"""Files at any address that Spark's Hadoop supports, such as ``s3a://bucket/folder``."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from topicwarden.model.problem import Refusal


class ReportFolder:
    """The folder at ``url``, for the files of a report. The driver writes them itself.

    Raises Refusal if the folder cannot be created or written. So an audit learns this before it reads a record.
    """

    def __init__(self, spark: SparkSession, url: str) -> None:
        self._spark, self._url = spark, url.rstrip("/")
        name = f".topicwarden-{uuid.uuid4().hex}"
        self.write({name: ""})
        path = path_of(spark, f"{self._url}/{name}")
        files_of(spark, path).delete(path, False)

    @classmethod
    def of_active_session(cls, url: str) -> ReportFolder:
        """Return the folder for the Spark session of this thread."""
        spark = SparkSession.getActiveSession()
        assert spark
        return cls(spark, url)

    def write(self, texts: Mapping[str, str]) -> list[str]:
        """Write a file for each name, over an earlier one; return their addresses."""
        try:
            return [self._write(name, text) for name, text in texts.items()]
        except Py4JJavaError as error:
            raise Refusal(
                f"cannot write the report to {self._url}: {root_cause(error)}; select another folder with --out"
            ) from error

    def _write(self, name: str, text: str) -> str:
        path = path_of(self._spark, f"{self._url}/{name}")
        stream = files_of(self._spark, path).create(path, True)
        stream.write(bytearray(text, "utf-8"))
        stream.close()
        return f"{self._url}/{name}"


def path_of(spark: SparkSession, url: str) -> Any:
    """Return Hadoop's ``Path`` for ``url``."""
    jvm: Any = spark._jvm
    return jvm.org.apache.hadoop.fs.Path(url)


def files_of(spark: SparkSession, path: Any) -> Any:
    """Return Hadoop's ``FileSystem`` of ``path``."""
    return path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())


def root_cause(error: Exception) -> str:
    """Return the first line of the root cause's message."""
    cause = error.java_exception if isinstance(error, Py4JJavaError) else None
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    message = str(error) if cause is None else str(cause.getMessage() or cause.getClass().getName())
    return message.strip().partition("\n")[0]
