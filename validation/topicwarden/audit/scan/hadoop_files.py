"""Files at any address that Spark's Hadoop supports, such as ``s3a://bucket/folder``."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from topicwarden.audit.scan.java_errors import root_cause
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

    def write(self, texts: Mapping[str, str]) -> list[str]:
        """Write a file for each name, over an earlier one; return their addresses."""
        try:
            for name, text in texts.items():
                write_text(self._spark, f"{self._url}/{name}", text)
        except Py4JJavaError as error:
            raise Refusal(
                f"cannot write the report to {self._url}: {root_cause(error)}; select another folder with --out"
            ) from error
        return [f"{self._url}/{name}" for name in texts]


def write_text(spark: SparkSession, url: str, text: str) -> None:
    """Write a file in UTF-8, over an earlier one, from the driver. Raises Py4JJavaError."""
    write_bytes(spark, url, text.encode())


def write_bytes(spark: SparkSession, url: str, content: bytes) -> None:
    """Write a file, over an earlier one, from the driver. Raises Py4JJavaError."""
    path = path_of(spark, url)
    stream = files_of(spark, path).create(path, True)
    stream.write(bytearray(content))
    stream.close()


def read_bytes(spark: SparkSession, url: str) -> bytes | None:
    """Return the content of a file; None if there is no such file. Raises Py4JJavaError."""
    path = path_of(spark, url)
    try:
        stream = files_of(spark, path).open(path)
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() == "java.io.FileNotFoundException":
            return None
        raise
    try:
        return bytes(stream.readAllBytes())
    finally:
        stream.close()


def parquet_rows(spark: SparkSession, urls: Iterable[str]) -> int:
    """Return the number of rows in files of Parquet, from their footers. Raises Py4JJavaError."""
    jvm: Any = spark._jvm
    parquet, configuration = jvm.org.apache.parquet.hadoop, spark._jsparkSession.sessionState().newHadoopConf()
    open_file, input_file = parquet.ParquetFileReader.open, parquet.util.HadoopInputFile.fromPath
    rows = 0
    for url in urls:
        reader = open_file(input_file(path_of(spark, url), configuration))
        try:
            rows += int(reader.getRecordCount())
        finally:
            reader.close()
    return rows


def path_of(spark: SparkSession, url: str) -> Any:
    """Return Hadoop's ``Path`` for ``url``."""
    jvm: Any = spark._jvm
    return jvm.org.apache.hadoop.fs.Path(url)


def files_of(spark: SparkSession, path: Any) -> Any:
    """Return Hadoop's ``FileSystem`` of ``path``."""
    return path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
