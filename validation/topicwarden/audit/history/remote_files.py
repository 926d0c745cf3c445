"""The files of a history at any address: on this machine without Spark, elsewhere with Spark's Hadoop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError

from topicwarden.audit.scan.hadoop_files import files_of, path_of, read_bytes, write_bytes
from topicwarden.audit.scan.java_errors import root_cause
from topicwarden.audit.scan.spark_source import SparkSource
from topicwarden.usage.history_files import HistoryFiles, LocalFiles, is_local


def files_at(url: str, spark: SparkSource) -> HistoryFiles:
    """Return the operations on files at ``url``. Only addresses of other machines need ``spark``."""
    return LocalFiles() if is_local(url) else HadoopFiles(spark)


@contextmanager
def _java_errors() -> Iterator[None]:
    """Raise OSError for an error of Hadoop."""
    try:
        yield
    except Py4JJavaError as error:
        raise OSError(root_cause(error)) from error


class HadoopFiles:
    """Files at any address that Hadoop supports. Raises OSError."""

    def __init__(self, spark: SparkSource) -> None:
        self._spark = spark

    @_java_errors()
    def exists(self, url: str) -> bool:
        path = path_of(self._spark(), url)
        return bool(files_of(self._spark(), path).exists(path))

    @_java_errors()
    def names(self, url: str) -> list[tuple[str, int]]:
        path = path_of(self._spark(), url)
        files = files_of(self._spark(), path)
        if not files.exists(path):
            return []
        return [(file.getPath().getName(), int(file.getModificationTime())) for file in files.listStatus(path)]

    @_java_errors()
    def delete(self, url: str) -> None:
        path = path_of(self._spark(), url)
        files_of(self._spark(), path).delete(path, True)

    @_java_errors()
    def read(self, url: str) -> bytes | None:
        return read_bytes(self._spark(), url)

    @_java_errors()
    def write(self, url: str, content: bytes) -> None:
        write_bytes(self._spark(), url, content)
