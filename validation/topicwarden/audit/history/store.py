"""Store the history of audits at any address: without Spark here, else with Spark's Hadoop; see ``history_files.py``.

::

    v4/states/<started>-<uuid>/  the states of the audited topics as compressed JSON, and the list of these topics
    v4/keys/<started>-<uuid>/    with ``--since last``: the counts of each key, see ``key_store.py``, and of each block
                                 of offsets, see ``offset_blocks.py``
    v4/outcomes/                 the verdicts of earlier audits, see ``outcomes.py``
    v4/use/                      the use of topics, see ``usage/use_history.py``

Spark reads and writes the counts of keys, in Parquet. All other files are the driver's: on this machine it needs no
Spark for them. A part with Parquet becomes valid after this was read back.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pydantic import TypeAdapter
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from topicwarden.audit.history.topic_state import TopicState
from topicwarden.audit.scan.hadoop_files import files_of, parquet_rows, path_of, read_bytes, write_bytes
from topicwarden.audit.scan.java_errors import root_cause
from topicwarden.audit.scan.spark_source import SparkSource, source_of
from topicwarden.usage.history_files import (
    LOCAL,
    HistoryFiles,
    HistoryPart,
    HistoryParts,
    LocalFiles,
    history_root,
    is_local,
    local_path,
    part_name,
)


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


_STATES = "states.json.gz"
_TOPICS = "topics.json"
KEPT_PARTS = 20
"""The newest parts of ``states/`` that are always kept; older parts are deleted if newer ones have all their topics."""

_FORGET_MS = 90 * 86_400_000
"""The state of a topic that no audit has saved for this time is deleted."""

_FASTEST = 1
"""The compression level of states: a higher one takes longer than the rest of the write."""

_GLOB = re.compile(r"[*?\[\]{}\\]")
"""What Spark reads as a part of a pattern in the path of a file, unless a backslash is before it."""

_Topic = tuple[str, str]
"""The cluster id and the name of a topic."""

_TOPIC_STATES = TypeAdapter(list[TopicState])


class HistoryUnavailable(Exception):
    """Raised if the history cannot be read or written; an audit notes the reason and goes on without the history."""


FAILURES = (PySparkException, Py4JJavaError, OSError, EOFError, zlib.error, ValueError, KeyError, TypeError)
"""What Spark, Hadoop, the disk and a damaged file raise."""


def reason_of(error: Exception) -> str:
    """Return why the history cannot be used, as the end of a sentence."""
    if isinstance(error, (PySparkException, Py4JJavaError)):
        return root_cause(error)
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return f"a file is damaged ({type(error).__name__})"


class HistoryStore(HistoryParts):
    """The history at ``url``: a path on this machine, or an address such as ``s3a://bucket/history``."""

    def __init__(self, spark: SparkSession | SparkSource, url: str) -> None:
        self._source = source_of(spark)
        super().__init__(url, files_at(history_root(url), self._source))

    @property
    def _spark(self) -> SparkSession:
        return self._source()

    def last_states(self, before: int | None = None) -> list[TopicState]:
        """Return the last saved state of each topic, of those ``before`` a time (ms); raises ``HistoryUnavailable``."""
        try:
            newest: dict[_Topic, tuple[int, str]] = {}
            parts = self.parts("states")
            for part in parts:
                for topic, taken_at in self._topics(part).items():
                    if before is not None and taken_at >= before:
                        continue
                    newest[topic] = max(newest.get(topic, (taken_at, part.name)), (taken_at, part.name))
            needed: dict[str, set[_Topic]] = {}
            for topic, (_, name) in newest.items():
                needed.setdefault(name, set()).add(topic)
            return [
                state
                for part in parts
                if part.name in needed
                for state in self._states(part)
                if (state.cluster_id, state.topic) in needed[part.name]
            ]
        except FAILURES as error:
            raise HistoryUnavailable(reason_of(error)) from error

    def cluster_instead_of(self, cluster_id: str) -> str | None:
        """Return the cluster of the last audits if none was of ``cluster_id``; raises ``HistoryUnavailable``.

        None if one was, or if there are no audits.
        """
        last: str | None = None
        try:
            for part in reversed(self.parts("states")):
                clusters = {cluster for cluster, _ in self._topics(part)}
                if cluster_id in clusters:
                    return None
                last = last or next(iter(clusters), None)
        except FAILURES as error:
            raise HistoryUnavailable(reason_of(error)) from error
        return last

    def has_audit_since(self, time: int) -> bool:
        """Return whether an audit of ``time`` (ms) or later has saved states; raises ``HistoryUnavailable``."""
        try:
            return any(part.started >= time for part in self.parts("states"))
        except FAILURES as error:
            raise HistoryUnavailable(reason_of(error)) from error

    def other_versions(self) -> list[str]:
        """Return the other versions of the format at this address; raises ``HistoryUnavailable``."""
        try:
            return super().other_versions()
        except FAILURES as error:
            raise HistoryUnavailable(reason_of(error)) from error

    def save(self, states: Iterable[TopicState], started: int) -> None:
        """Add a part with these states; raises ``HistoryUnavailable``.

        ``started``: the start of the audit in milliseconds.
        """
        saved = list(states)
        if not saved:
            return
        try:
            name = part_name(started)
            topics = [[state.cluster_id, state.topic, state.taken_at] for state in saved]
            self.write_bytes("states", name, _STATES, gzip.compress(_TOPIC_STATES.dump_json(saved), _FASTEST))
            self.write_bytes("states", name, _TOPICS, json.dumps(topics).encode())
            self.complete("states", name)
        except FAILURES as error:
            raise HistoryUnavailable(reason_of(error)) from error

    def delete_old(self, now: int) -> None:
        """Delete the parts that newer ones replace, at ``now`` (ms); raises ``HistoryUnavailable``."""
        try:
            try:
                self._delete_old_states(now)
            finally:
                self._delete_unreferenced_keys(now)
        except FAILURES as error:
            raise HistoryUnavailable(reason_of(error)) from error

    def is_shared(self) -> bool:
        """Return whether the driver can read what the executors write; raises ``HistoryUnavailable``.

        Executors on other machines write a path such as ``/audits`` to their own disks. Spark's committer then moves
        no file on the driver's disk, and still reports success.
        """
        try:
            if not is_local(self._root) or self._spark.sparkContext._jsc.sc().isLocal():
                return True
            return self._probe()
        except FAILURES as error:
            raise HistoryUnavailable(reason_of(error)) from error

    def _probe(self) -> bool:
        """Return whether the driver finds every row of a part that all executors wrote."""
        name, rows = part_name(), max(2, self._spark.sparkContext.defaultParallelism)
        probe = self.path("probe", name)
        try:
            self._spark.range(0, rows, 1, rows).write.parquet(probe)
            return self.read("probe", [HistoryPart(name, 0)], "id long").count() == rows
        finally:
            self.files.delete(probe)

    def write(self, folder: str, name: str, rows: DataFrame, partition_by: str | None = None) -> None:
        """Add rows of Parquet to a part, with a folder for each value of the column ``partition_by``.

        All rows are then found again, in the footers of the files. Raises ``HistoryUnavailable`` if any is missing. The
        part becomes valid with ``complete``.
        """
        written = Observation()
        writer = rows.observe(written, F.count(F.lit(1)).alias("rows")).write.option("compression", "zstd")
        (writer.partitionBy(partition_by) if partition_by else writer).parquet(self.path(folder, name))
        found, expected = self._rows(folder, name, rows.schema), written.get["rows"]
        if found != expected:
            raise HistoryUnavailable(
                f"{expected:,} rows were written to {self.path(folder, name)}, and {found:,} can be read back: "
                "choose an address that the driver and all executors share"
            )

    def _rows(self, folder: str, name: str, schema: StructType) -> int:
        """Return the number of rows in the files of a part, from their footers."""
        path = self.path(folder, name)
        if not self.files.exists(path):
            return 0
        if is_local(self._root):  # a Spark job takes longer than all footers
            files = [file for pattern in ("*.parquet", "*/*.parquet") for file in local_path(path).glob(pattern)]
            return parquet_rows(self._spark, [f"{LOCAL}:{file}" for file in files])
        return self.read(folder, [HistoryPart(name, 0)], schema).count()

    def read(self, folder: str, parts: Iterable[HistoryPart], schema: str | StructType, within: str = "") -> DataFrame:
        """Return the rows of ``parts``, or of their folders ``within``.

        Files that another audit has deleted in the meantime are skipped.
        """
        paths = [_GLOB.sub(r"\\\g<0>", f"{self.path(folder, part.name)}/{within}") for part in parts]
        return self._spark.read.schema(schema).option("ignoreMissingFiles", "true").parquet(*paths)

    def has(self, folder: str, name: str, within: str) -> bool:
        """Return whether a part has a folder ``within``."""
        return self.files.exists(f"{self.path(folder, name)}/{within}")

    def delete_within(self, folder: str, name: str, within: str) -> None:
        """Delete the folder ``within`` of a part."""
        self.files.delete(f"{self.path(folder, name)}/{within}")

    def _delete_old_states(self, now: int) -> None:
        old, parts = self.abandoned("states", now), self.parts("states")
        topics = {part.name: set(self._topics(part)) for part in parts} if len(parts) > KEPT_PARTS else {}
        for number, part in enumerate(parts[:-KEPT_PARTS]):
            newer = set().union(*(topics[other.name] for other in parts[number + 1 :]))
            if part.started < now - _FORGET_MS or topics[part.name] <= newer:
                old.append(part.name)
        self.delete("states", old)

    def _delete_unreferenced_keys(self, now: int) -> None:
        """Delete the parts of ``keys/`` that no last state refers to and that no running audit can still use."""
        old = self.old_names("keys", now)
        if not old:
            return
        partitions = [partition for state in self.last_states() for partition in state.partitions]
        referenced = {name for partition in partitions if partition.known for name in partition.known.parts}
        self.delete("keys", [name for name in old if name not in referenced])

    def _topics(self, part: HistoryPart) -> dict[_Topic, int]:
        """Return the time (ms) of the state of each topic in a part; none if another audit has deleted the part."""
        content = self.read_bytes("states", part.name, _TOPICS)
        return {} if content is None else {(cluster, topic): at for cluster, topic, at in json.loads(content)}

    def _states(self, part: HistoryPart) -> list[TopicState]:
        content = self.read_bytes("states", part.name, _STATES)
        return [] if content is None else _TOPIC_STATES.validate_json(gzip.decompress(content))
