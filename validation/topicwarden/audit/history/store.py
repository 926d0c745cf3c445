"""Where audits remember: a folder at any address that Hadoop knows, of which each audit writes a part of its own.

::

    v3/looks/<started>-<uuid>/   a Parquet file: a row a topic that was audited
    v3/keys/<started>-<uuid>/    with ``--since last``: what is known of each key, see ``keys``

A part is believed once it holds ``_complete``, which is written last, after the part was read back; a name never occurs
twice. So two
audits do not meet, and one that is killed leaves nothing that a later one reads. Another version of this
format has a folder of its own beside this one, which is neither read nor touched.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from topicwarden.audit.history.topic_state import (
    Checkpoint,
    KnownPartition,
    KnownTombstone,
    OpenFinding,
    PartitionState,
    RememberedRecord,
    TopicState,
)
from topicwarden.audit.scan.literal_rows import literal

VERSION = "v3"
_COMPLETE = "_complete"
KEEP = 20
"""Looks that are kept at least; older ones go once each of their topics was looked at again."""

_FORGET_MS = 90 * 86_400_000
"""A topic that no audit looked at for so long is forgotten; so is what a killed audit left, after a day."""
_ABANDONED_MS = 86_400_000

_LOOK = (
    "cluster_id string, topic string, topic_id string, taken_at long, settings map<string,string>, "
    "since map<string,long>, partitions array<struct<partition:int,start:long,end:long,last_stable:long,"
    "log_bytes:long,leader:int,leader_epoch:int,shaped_from:long,"
    "known:struct<parts:array<string>,read:array<long>,terms:string,start:long,faulty:boolean,null_keys:long,"
    "checkpoints:array<struct<offset:long,records:long,payload_bytes:long,keys:long>>,totals:string>>>, "
    "suspicions array<struct<check:string,partition:int,verdict:string,since:long,facts:map<string,long>,"
    "settings:map<string,string>>>, "
    "witnesses array<struct<partition:int,offset:long,key:long,superseded_by:long>>, "
    "tombstones array<struct<partition:int,offset:long,key:long>>"
)


@dataclass(frozen=True)
class HistoryPart:
    """A part's name, and when its audit started (ms)."""

    name: str
    started: int


class Unreadable(Exception):
    """The history is not to be had; the message says why. An audit goes on without it, and says so."""


class HistoryStore:
    """The history at ``url``: a path of this machine, or an address such as ``s3a://bucket/history``."""

    def __init__(self, spark: SparkSession, url: str) -> None:
        self._spark = spark
        self._url = f"{url.rstrip('/')}/{VERSION}"
        self._root = url

    def looks(self) -> list[TopicState]:
        """The last look at each topic that any audit remembers; raises ``Unreadable``."""
        try:
            parts = self.parts("looks")
            if not parts:
                return []
            rows = self.read("looks", parts, _LOOK).collect()
        except (PySparkException, Py4JJavaError) as error:
            raise Unreadable(_why(error)) from error
        newest: dict[tuple[str, str], TopicState] = {}
        for look in map(_look, rows):
            place = look.cluster_id, look.topic
            if place not in newest or newest[place].taken_at < look.taken_at:
                newest[place] = look
        return list(newest.values())

    def others(self) -> list[str]:
        """Versions of the history beside this one, such as one that a newer topicwarden wrote."""
        try:
            return [name for name, _ in self._list(self._root) if name != VERSION and name.startswith("v")]
        except (PySparkException, Py4JJavaError) as error:
            raise Unreadable(_why(error)) from error

    def remember(self, looks: Iterable[TopicState], started: int) -> None:
        """Adds a part of these looks, and takes away parts that later ones replace; raises ``Unreadable``."""
        rows = [asdict(look) for look in looks]
        if not rows:
            return
        try:
            self.write("looks", part_name(started), literal(self._spark, rows, _LOOK).coalesce(1))
            self._forget(started)
            self.forget_keys(started)
        except (PySparkException, Py4JJavaError) as error:
            raise Unreadable(_why(error)) from error

    def shared(self) -> bool:
        """Return whether what the executors write is what the driver reads; raises ``Unreadable``.

        Executors on other machines write a path such as ``/audits`` to their own disks. Spark's committer then moves
        no file on the driver's disk and reports success.
        """
        path = self._path(self._root)
        try:
            local_disk = self._files(path).getScheme() == "file"
            if not local_disk or self._spark.sparkContext._jsc.sc().isLocal():
                return True
            return self._probe()
        except (PySparkException, Py4JJavaError) as error:
            raise Unreadable(_why(error)) from error

    def _probe(self) -> bool:
        """Return whether the driver finds every row of a part that all executors wrote."""
        name, rows = part_name(), max(2, self._spark.sparkContext.defaultParallelism)
        probe = self._path(self.path("probe", name))
        try:
            self._spark.range(0, rows, 1, rows).write.parquet(self.path("probe", name))
            return self.read("probe", [HistoryPart(name, 0)], "id long").count() == rows
        finally:
            self._files(probe).delete(probe, True)

    def write(self, folder: str, name: str, rows: DataFrame, apart_by: str | None = None) -> None:
        """Adds a part, in a folder for each value of ``apart_by``; nobody believes it before all of it is there.

        Raises ``Unreadable`` if the rows cannot be read back.
        """
        written = Observation()
        writer = rows.observe(written, F.count(F.lit(1)).alias("rows")).write.option("compression", "zstd")
        (writer.partitionBy(apart_by) if apart_by else writer).parquet(self.path(folder, name))
        found, expected = self._rows(folder, name, rows.schema), written.get["rows"]
        if found != expected:
            raise Unreadable(
                f"{expected:,} rows were written to {self.path(folder, name)}, and {found:,} can be read back: "
                "name an address that the driver and all executors share"
            )
        marker = self._path(f"{self.path(folder, name)}/{_COMPLETE}")
        self._files(marker).create(marker).close()

    def _rows(self, folder: str, name: str, schema: StructType) -> int:
        """Return how many rows the files of a part hold, by their footers."""
        path = self._path(self.path(folder, name))
        return self.read(folder, [HistoryPart(name, 0)], schema).count() if self._files(path).exists(path) else 0

    def read(self, folder: str, parts: Iterable[HistoryPart], schema: str | StructType, within: str = "") -> DataFrame:
        """The rows of some parts, or of their folders ``within``.

        A file that another audit replaced and took away meanwhile is passed over.
        """
        paths = [f"{self.path(folder, part.name)}/{within}" for part in parts]
        return self._spark.read.schema(schema).option("ignoreMissingFiles", "true").parquet(*paths)

    def has(self, folder: str, name: str, within: str) -> bool:
        """Whether a part has a folder ``within``."""
        path = self._path(f"{self.path(folder, name)}/{within}")
        return bool(self._files(path).exists(path))

    def path(self, folder: str, name: str) -> str:
        return f"{self._url}/{folder}/{name}"

    def parts(self, folder: str) -> list[HistoryPart]:
        """What was written completely, the oldest first."""
        found = [
            HistoryPart(name, int(name.partition("-")[0]))
            for name, _ in self._list(f"{self._url}/{folder}")
            if name.partition("-")[0].isdigit()
        ]
        return sorted((part for part in found if self._complete(folder, part)), key=lambda part: part.name)

    def delete(self, folder: str, part: HistoryPart) -> None:
        path = self._path(self.path(folder, part.name))
        # What makes the part believed goes first.
        self._files(path).delete(self._path(f"{self.path(folder, part.name)}/{_COMPLETE}"), False)
        self._files(path).delete(path, True)

    def _forget(self, now: int) -> None:
        parts = self.parts("looks")
        names = {part.name for part in parts}
        for name, written in self._list(f"{self._url}/looks"):
            if name not in names and written < now - _ABANDONED_MS:
                self.delete("looks", HistoryPart(name, 0))
        if len(parts) <= KEEP:
            return
        topics = self._topics(parts)
        for number, part in enumerate(parts[:-KEEP]):
            later = set().union(*(topics.get(other.name, set()) for other in parts[number + 1 :]))
            if part.started < now - _FORGET_MS or topics.get(part.name, set()) <= later:
                self.delete("looks", part)

    def forget_keys(self, now: int) -> None:
        """Takes away parts of ``keys`` that no last look names any more, once no audit can still be at work on them."""
        old = [one for one in self._list(f"{self._url}/keys") if one[1] < now - _ABANDONED_MS]
        if not old:
            return
        named = {name for look in self.looks() for one in look.partitions if one.known for name in one.known.parts}
        for name, _ in old:
            if name not in named:
                self.delete("keys", HistoryPart(name, 0))

    def _topics(self, parts: list[HistoryPart]) -> dict[str, set[tuple[str, str]]]:
        """The topics of each part, by the part's name."""
        file = F.element_at(F.split(F.col("_metadata.file_path"), "/"), -2).alias("part")
        found: dict[str, set[tuple[str, str]]] = {}
        for row in self.read("looks", parts, _LOOK).select(file, "cluster_id", "topic").collect():
            found.setdefault(row["part"], set()).add((row["cluster_id"], row["topic"]))
        return found

    def _complete(self, folder: str, part: HistoryPart) -> bool:
        marker = self._path(f"{self.path(folder, part.name)}/{_COMPLETE}")
        return bool(self._files(marker).exists(marker))

    def _list(self, url: str) -> list[tuple[str, int]]:
        """Names in a folder, and when each was written (ms); nothing where the folder is not there."""
        path = self._path(url)
        files = self._files(path)
        if not files.exists(path):
            return []
        return [(one.getPath().getName(), int(one.getModificationTime())) for one in files.listStatus(path)]

    def _path(self, url: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(url)

    def _files(self, path: Any) -> Any:
        return path.getFileSystem(self._spark._jsparkSession.sessionState().newHadoopConf())

    @property
    def _jvm(self) -> Any:
        return self._spark._jvm


def part_name(started: int | None = None) -> str:
    """A name that sorts by time and never occurs twice."""
    return f"{int(time.time() * 1000) if started is None else started:013d}-{uuid.uuid4().hex}"


def _look(row: Row) -> TopicState:
    held = row.asDict(recursive=True)
    return TopicState(
        **{name: held[name] for name in ("cluster_id", "topic", "topic_id", "taken_at", "settings", "since")},
        partitions=tuple(PartitionState(**{**one, "known": _known(one["known"])}) for one in held["partitions"]),
        suspicions=tuple(OpenFinding(**one) for one in held["suspicions"]),
        witnesses=tuple(RememberedRecord(**one) for one in held["witnesses"]),
        tombstones=tuple(KnownTombstone(**one) for one in held["tombstones"]),
    )


def _known(held: dict[str, Any] | None) -> KnownPartition | None:
    if held is None:
        return None
    return KnownPartition(
        parts=tuple(held["parts"]),
        read=tuple(held["read"]),
        terms=held["terms"],
        start=held["start"],
        faulty=held["faulty"],
        null_keys=held["null_keys"],
        checkpoints=tuple(Checkpoint(**one) for one in held["checkpoints"]),
        totals=held["totals"],
    )


def _why(error: Exception) -> str:
    cause = error.java_exception if isinstance(error, Py4JJavaError) else None
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    said = str(error) if cause is None else str(cause.getMessage() or cause.getClass().getName())
    return said.strip().partition("\n")[0]
