"""Store the history in a folder at any address that Hadoop supports; each audit writes its own parts.

::

    v3/looks/<started>-<uuid>/   a Parquet file: a row for each audited topic
    v3/keys/<started>-<uuid>/    with ``--since last``: the counts of each key, see ``key_store.py``
    v3/outcomes/                 the verdicts of earlier audits, see ``outcomes.py``

A part is valid if it contains the file ``_complete``, which is written last, after Parquet was read back. Names of
parts are unique. So two audits at the same time do not interfere, and an interrupted audit leaves no valid part.
Another version of this format has its own folder, which this version neither reads nor changes.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
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
from topicwarden.audit.scan.hadoop_files import files_of, path_of, read_text, write_text
from topicwarden.audit.scan.java_errors import root_cause
from topicwarden.audit.scan.literal_rows import literal

VERSION = "v3"
_COMPLETE = "_complete"
_TEXT = "part.json"
KEPT_PARTS = 20
"""The newest parts of ``looks/`` that are always kept; older parts are deleted if newer ones have all their topics."""

_FORGET_MS = 90 * 86_400_000
"""The state of a topic that no audit has saved for this time is deleted."""
_ABANDONED_MS = 86_400_000
"""Incomplete and unreferenced parts are deleted after this time."""

_STATE = (
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


_RENAMED = {"open_findings": "suspicions", "remembered_records": "witnesses"}
"""The column of a field of ``TopicState``, if the names differ."""


@dataclass(frozen=True)
class HistoryPart:
    """The name of a part, and the start of its audit in milliseconds."""

    name: str
    started: int


class HistoryUnavailable(Exception):
    """Raised if the history cannot be read or written; an audit notes the reason and goes on without the history."""


class HistoryStore:
    """The history at ``url``: a path on this machine, or an address such as ``s3a://bucket/history``."""

    def __init__(self, spark: SparkSession, url: str) -> None:
        self._spark = spark
        self._url = f"{url.rstrip('/')}/{VERSION}"
        self._root = url

    def last_states(self) -> list[TopicState]:
        """Return the last saved state of each topic; raises ``HistoryUnavailable``."""
        try:
            parts = self.parts("looks")
            if not parts:
                return []
            # JSON, because Python needs much longer for rows. One partition, because a shuffle takes longer than this.
            state = F.to_json(F.struct("*"), {"ignoreNullFields": "false"})
            states = self.read("looks", parts, _STATE).coalesce(1)
            newest = states.groupBy("cluster_id", "topic").agg(F.max_by(state, "taken_at").alias("state"))
            rows = newest.select("state").collect()
        except (PySparkException, Py4JJavaError) as error:
            raise HistoryUnavailable(root_cause(error)) from error
        return [_topic_state(json.loads(row["state"])) for row in rows]

    def other_versions(self) -> list[str]:
        """Return the other versions of the format at this address, such as one of a newer topicwarden."""
        try:
            return [name for name, _ in self._list(self._root) if name != VERSION and name.startswith("v")]
        except (PySparkException, Py4JJavaError) as error:
            raise HistoryUnavailable(root_cause(error)) from error

    def save(self, states: Iterable[TopicState], started: int) -> None:
        """Add a part with these states, and delete parts that newer ones replace; raises ``HistoryUnavailable``.

        ``started``: the start of the audit in milliseconds.
        """
        rows = [{_RENAMED.get(name, name): value for name, value in asdict(state).items()} for state in states]
        if not rows:
            return
        try:
            self.write("looks", part_name(started), literal(self._spark, rows, _STATE).coalesce(1))
            self._delete_old_states(started)
            self.delete_unreferenced_keys(started)
        except (PySparkException, Py4JJavaError) as error:
            raise HistoryUnavailable(root_cause(error)) from error

    def is_shared(self) -> bool:
        """Return whether the driver can read what the executors write; raises ``HistoryUnavailable``.

        Executors on other machines write a path such as ``/audits`` to their own disks. Spark's committer then moves
        no file on the driver's disk, and still reports success.
        """
        path = self._path(self._root)
        try:
            local_disk = self._files(path).getScheme() == "file"
            if not local_disk or self._spark.sparkContext._jsc.sc().isLocal():
                return True
            return self._probe()
        except (PySparkException, Py4JJavaError) as error:
            raise HistoryUnavailable(root_cause(error)) from error

    def _probe(self) -> bool:
        """Return whether the driver finds every row of a part that all executors wrote."""
        name, rows = part_name(), max(2, self._spark.sparkContext.defaultParallelism)
        probe = self._path(self.path("probe", name))
        try:
            self._spark.range(0, rows, 1, rows).write.parquet(self.path("probe", name))
            return self.read("probe", [HistoryPart(name, 0)], "id long").count() == rows
        finally:
            self._files(probe).delete(probe, True)

    def write(self, folder: str, name: str, rows: DataFrame, partition_by: str | None = None) -> None:
        """Add a part, with a folder for each value of the column ``partition_by``.

        The part becomes valid after all rows were read back. Raises ``HistoryUnavailable`` if they cannot be read.
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
        self._mark_complete(folder, name)

    def _rows(self, folder: str, name: str, schema: StructType) -> int:
        """Return the number of rows in the files of a part, from their footers."""
        path = self._path(self.path(folder, name))
        return self.read(folder, [HistoryPart(name, 0)], schema).count() if self._files(path).exists(path) else 0

    def read(self, folder: str, parts: Iterable[HistoryPart], schema: str | StructType, within: str = "") -> DataFrame:
        """Return the rows of ``parts``, or of their folders ``within``.

        Files that another audit has deleted in the meantime are skipped.
        """
        paths = [f"{self.path(folder, part.name)}/{within}" for part in parts]
        return self._spark.read.schema(schema).option("ignoreMissingFiles", "true").parquet(*paths)

    def write_text(self, folder: str, name: str, text: str) -> None:
        """Add a part of one file that the driver writes and reads, for data that is too small for a job of Spark's."""
        write_text(self._spark, f"{self.path(folder, name)}/{_TEXT}", text)
        self._mark_complete(folder, name)

    def read_text(self, folder: str, part: HistoryPart) -> str | None:
        """Return the text of a part; None if another audit has deleted it in the meantime."""
        return read_text(self._spark, f"{self.path(folder, part.name)}/{_TEXT}")

    def has(self, folder: str, name: str, within: str) -> bool:
        """Return whether a part has a folder ``within``."""
        path = self._path(f"{self.path(folder, name)}/{within}")
        return bool(self._files(path).exists(path))

    def path(self, folder: str, name: str) -> str:
        return f"{self._url}/{folder}/{name}"

    def parts(self, folder: str) -> list[HistoryPart]:
        """Return the complete parts, the oldest first."""
        found = [
            HistoryPart(name, int(name.partition("-")[0]))
            for name, _ in self._list(f"{self._url}/{folder}")
            if name.partition("-")[0].isdigit()
        ]
        return sorted((part for part in found if self._complete(folder, part)), key=lambda part: part.name)

    def delete(self, folder: str, part: HistoryPart) -> None:
        path = self._path(self.path(folder, part.name))
        # The marker is deleted first, so that no audit reads a partly deleted part.
        self._files(path).delete(self._path(f"{self.path(folder, part.name)}/{_COMPLETE}"), False)
        self._files(path).delete(path, True)

    def _delete_old_states(self, now: int) -> None:
        parts = self.parts("looks")
        complete = {part.name for part in parts}
        for name, written in self._list(f"{self._url}/looks"):
            if name not in complete and written < now - _ABANDONED_MS:
                self.delete("looks", HistoryPart(name, 0))
        if len(parts) <= KEPT_PARTS:
            return
        topics = self._topics(parts)
        for number, part in enumerate(parts[:-KEPT_PARTS]):
            newer = set().union(*(topics.get(other.name, set()) for other in parts[number + 1 :]))
            if part.started < now - _FORGET_MS or topics.get(part.name, set()) <= newer:
                self.delete("looks", part)

    def delete_unreferenced_keys(self, now: int) -> None:
        """Delete the parts of ``keys/`` that no last state refers to and that no running audit can still use."""
        old = [name for name, written in self._list(f"{self._url}/keys") if written < now - _ABANDONED_MS]
        if not old:
            return
        partitions = [partition for state in self.last_states() for partition in state.partitions]
        referenced = {name for partition in partitions if partition.known for name in partition.known.parts}
        for name in old:
            if name not in referenced:
                self.delete("keys", HistoryPart(name, 0))

    def _topics(self, parts: list[HistoryPart]) -> dict[str, set[tuple[str, str]]]:
        """Return the topics in each part, by the name of the part."""
        file = F.element_at(F.split(F.col("_metadata.file_path"), "/"), -2).alias("part")
        found: dict[str, set[tuple[str, str]]] = {}
        for row in self.read("looks", parts, _STATE).select(file, "cluster_id", "topic").collect():
            found.setdefault(row["part"], set()).add((row["cluster_id"], row["topic"]))
        return found

    def _mark_complete(self, folder: str, name: str) -> None:
        marker = self._path(f"{self.path(folder, name)}/{_COMPLETE}")
        self._files(marker).create(marker).close()

    def _complete(self, folder: str, part: HistoryPart) -> bool:
        marker = self._path(f"{self.path(folder, part.name)}/{_COMPLETE}")
        return bool(self._files(marker).exists(marker))

    def _list(self, url: str) -> list[tuple[str, int]]:
        """Return the names in a folder and their modification times (ms); empty if there is no such folder."""
        path = self._path(url)
        files = self._files(path)
        if not files.exists(path):
            return []
        return [(file.getPath().getName(), int(file.getModificationTime())) for file in files.listStatus(path)]

    def _path(self, url: str) -> Any:
        return path_of(self._spark, url)

    def _files(self, path: Any) -> Any:
        return files_of(self._spark, path)


def part_name(started: int | None = None) -> str:
    """Return a unique name that sorts by ``started`` (ms), which is now by default."""
    return f"{int(time.time() * 1000) if started is None else started:013d}-{uuid.uuid4().hex}"


def _topic_state(values: Mapping[str, Any]) -> TopicState:
    return TopicState(
        **{name: values[name] for name in ("cluster_id", "topic", "topic_id", "taken_at", "settings", "since")},
        partitions=tuple(PartitionState(**{**each, "known": _known(each["known"])}) for each in values["partitions"]),
        open_findings=tuple(OpenFinding(**each) for each in values[_RENAMED["open_findings"]]),
        remembered_records=tuple(RememberedRecord(**each) for each in values[_RENAMED["remembered_records"]]),
        tombstones=tuple(KnownTombstone(**each) for each in values["tombstones"]),
    )


def _known(values: dict[str, Any] | None) -> KnownPartition | None:
    if values is None:
        return None
    return KnownPartition(
        parts=tuple(values["parts"]),
        read=tuple(values["read"]),
        terms=values["terms"],
        start=values["start"],
        faulty=values["faulty"],
        null_keys=values["null_keys"],
        checkpoints=tuple(Checkpoint(**each) for each in values["checkpoints"]),
        totals=values["totals"],
    )
