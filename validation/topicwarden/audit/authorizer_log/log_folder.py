"""Finds the files of authorizer logs below a folder, by broker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from topicwarden.audit.scan.hadoop_files import files_of, path_of
from topicwarden.audit.scan.java_errors import root_cause
from topicwarden.model.problem import Refusal

NAME: Final = "kafka-authorizer"
"""The beginning of the names of authorizer logs, in Kafka's own Log4j configuration."""
JAVA_ERRORS: Final = (Py4JJavaError, PySparkException)
"""What a failed call of Java raises: PySpark replaces some exceptions of Java with its own."""
_UNSUPPORTED: Final = {".xz": "xz", ".zip": "zip", ".7z": "7z", ".lz4": "lz4", ".br": "Brotli"}
"""Suffixes of files that Spark would read as text."""
_MAGIC: Final = {b"\x1f\x8b": (".gz", ".gzip"), b"\x28\xb5\x2f\xfd": (".zst", ".zstd"), b"BZh": (".bz2",)}


_COMPRESSED: Final = frozenset(suffix for suffixes in _MAGIC.values() for suffix in suffixes)


@dataclass(frozen=True)
class LogFile:
    """One file: ``url`` for Spark's reader, and the address that Spark reports for its rows.

    ``text_bytes`` is the size of the text in it, of a compressed one modulo 2**32; None if it is not known before it is
    read.
    """

    broker: str
    name: str
    url: str
    address: str
    text_bytes: int | None
    compressed: bool = False


@dataclass(frozen=True)
class LogFolder:
    """The readable files below a folder, all brokers, those with files that cannot be read, and what to note."""

    files: tuple[LogFile, ...]
    brokers: frozenset[str]
    damaged: frozenset[str]
    notes: tuple[str, ...]


def log_address(folder: str) -> str:
    """Return the URL of a folder that a user names: a URI, or a path relative to the working directory."""
    return folder if "://" in folder else f"file:{Path.cwd() / folder}"


def find_log_files(spark: SparkSession, url: str) -> LogFolder:
    """Return the files in the folder ``url``: one folder for each broker, or the files of one broker.

    A broker is called as its folder. If any file of a broker has a name like ``kafka-authorizer.log.2026-11-24-13``,
    only such files are read. Raises Refusal if the folder cannot be listed.
    """
    try:
        path = path_of(spark, url)
        entries = sorted(files_of(spark, path).listStatus(path), key=lambda entry: str(entry.getPath()))
    except JAVA_ERRORS as error:
        raise Refusal(
            f"cannot list the folder of authorizer logs, {url}: {root_cause(error)}; select another one with "
            "--authorizer-log"
        ) from error
    search = _Search(spark)
    own = [entry for entry in entries if not entry.isDirectory()]
    if own:
        search.add_broker(str(path.getName()) or url, own)
    for entry in entries:
        if entry.isDirectory() and not str(entry.getPath().getName()).startswith("."):
            search.add_folder(entry.getPath())
    if not search.brokers:
        search.notes.append("the folder of authorizer logs is empty")
    return LogFolder(
        tuple(search.files), frozenset(search.brokers), frozenset(search.damaged), tuple(_once(search.notes))
    )


class _Search:
    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.files: list[LogFile] = []
        self.brokers: set[str] = set()
        self.damaged: set[str] = set()
        self.notes: list[str] = []

    def add_folder(self, path: Any) -> None:
        broker = str(path.getName())
        try:
            entries = sorted(files_of(self._spark, path).listStatus(path), key=lambda entry: str(entry.getPath()))
        except JAVA_ERRORS as error:
            self.brokers.add(broker)
            self._damage(broker, f"its folder cannot be listed: {root_cause(error)}")
            return
        self.add_broker(broker, [entry for entry in entries if not entry.isDirectory()])

    def add_broker(self, broker: str, entries: list[Any]) -> None:
        self.brokers.add(broker)
        names = {str(entry.getPath().getName()): entry for entry in entries}
        visible = {name: entry for name, entry in names.items() if not name.startswith((".", "_"))}
        logs = {name: entry for name, entry in visible.items() if name.startswith(NAME)} or visible
        if not logs:
            self._damage(broker, "it has no file kafka-authorizer.log")
        for name, entry in logs.items():
            self._add_file(broker, name, entry)

    def _add_file(self, broker: str, name: str, entry: Any) -> None:
        suffix = f".{name.rpartition('.')[2].lower()}"
        if suffix in _UNSUPPORTED:
            self._damage(broker, f"{name} is not read: {_UNSUPPORTED[suffix]} is not supported")
            return
        path = entry.getPath()
        try:
            head, tail = self._ends(path, int(entry.getLen()))
        except JAVA_ERRORS as error:
            self._damage(broker, f"{name} cannot be read: {root_cause(error)}")
            return
        compression = next((suffixes for magic, suffixes in _MAGIC.items() if head.startswith(magic)), None)
        if compression is not None and suffix not in compression:
            self._damage(broker, f"{name} is compressed, but its name does not end with {compression[0]}")
            return
        if suffix in _MAGIC[b"\x28\xb5\x2f\xfd"] and not self._reads_zstd(path):
            self._damage(broker, f"{name} is not read: this Spark has no Hadoop codec for zstd; use gzip")
            return
        size: int | None = int(entry.getLen())
        if suffix in _MAGIC[b"\x1f\x8b"]:
            size = int.from_bytes(tail, "little")  # RFC 1952, ISIZE
        elif compression is not None:
            size = None
        address = str(path.toUri().toString())
        self.files.append(
            LogFile(broker, name, _without_globs(str(path.toString())), address, size, suffix in _COMPRESSED)
        )

    def _ends(self, path: Any, length: int) -> tuple[bytes, bytes]:
        """Return the first and the last four bytes of a file."""
        stream = files_of(self._spark, path).open(path)
        try:
            head = bytes(stream.readNBytes(4))
            stream.seek(max(0, length - 4))
            return head, bytes(stream.readNBytes(4))
        finally:
            stream.close()

    def _reads_zstd(self, path: Any) -> bool:
        """Return whether Hadoop's codec works; it needs Hadoop's native library."""
        jvm: Any = self._spark._jvm
        conf = self._spark._jsparkSession.sessionState().newHadoopConf()
        try:
            codec = jvm.org.apache.hadoop.io.compress.CompressionCodecFactory(conf).getCodec(path)
            if codec is None:
                return False
            codec.createDecompressor()
        except JAVA_ERRORS:
            return False
        return True

    def _damage(self, broker: str, reason: str) -> None:
        self.damaged.add(broker)
        self.notes.append(f"authorizer log of {broker}: {reason}")


def _without_globs(path: str) -> str:
    """Return the path with backslashes before characters that Hadoop would take for a pattern."""
    return "".join(f"\\{character}" if character in "\\*?[]{}" else character for character in path)


def _once(notes: list[str]) -> Iterator[str]:
    yield from dict.fromkeys(notes)
