"""Test the history of use on this machine: concurrent, killed and damaged runs."""

from __future__ import annotations

import errno
import gzip
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, PartitionReplicas, Snapshot
from topicwarden.kafka.read.use_reads import ClusterUse
from topicwarden.model.access import NO_ACCESS
from topicwarden.model.timestamps import utc
from topicwarden.model.topic import Topic
from topicwarden.model.usage import Interval
from topicwarden.usage.history_files import LocalFiles
from topicwarden.usage.observe import ObservedGroup, ObservedTopic, UseObservation
from topicwarden.usage.remember import remember
from topicwarden.usage.use_history import UseHistory, remember_use
from topicwarden.usage.use_records import UseRecords

CLUSTER = "cluster"


def snapshot(at: int, end: int, cluster: str | None = CLUSTER) -> Snapshot:
    replicas = (PartitionReplicas(0, 1, (1,), (1,), 0),)
    extent = PartitionExtent(0, end, end, None, None, 10 * end, 10 * end)
    live = LiveTopic(Topic("t", 1, 1), "id", {}, replicas, {0: extent})
    return Snapshot(cluster, at, {1: None}, {}, {"t": live})


def records_at(at: int, offset: int, base: UseRecords | None = None) -> UseRecords:
    topic = ObservedTopic("t", "id", groups=(ObservedGroup("g", committed={0: offset}),))
    return remember(base or UseRecords(CLUSTER), UseObservation(CLUSTER, at, {"t": topic}))


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("v4/use/*"))


def saved(folder: Path, records: UseRecords) -> Path:
    """Save a part as a run does that has not loaded the others."""
    before = parts(folder)
    UseHistory(str(folder)).save(records)
    (part,) = set(parts(folder)) - set(before)
    return part


def test_each_run_adds_its_observation_and_replaces_the_parts_that_it_has_joined(tmp_path: Path) -> None:
    uses = []
    for at, end in ((1_000, 5), (2_000, 5), (3_000, 6)):
        use = ClusterUse((ConsumerGroup("g", "Empty", 0, {("t", 0): end}),))
        uses.append(remember_use(UseHistory(str(tmp_path)), snapshot(at, end), use, NO_ACCESS))
        assert len(parts(tmp_path)) == 1
    first, second, third = uses
    assert not first.previous
    assert first.topics["t"].last_written is None
    assert (second.topics["t"].unused_since, second.previous["t"]) == (1_000, first.topics["t"])
    assert third.topics["t"].last_written == third.topics["t"].last_read == Interval(2_000, 3_000)
    assert third.topics["t"].samples[-1].replica_bytes == 60
    assert third.groups["g"].last == Interval(2_000, 3_000)
    assert not third.notes


def test_a_run_without_saving_leaves_the_history_as_it_is(tmp_path: Path) -> None:
    remember_use(UseHistory(str(tmp_path)), snapshot(1_000, 5), ClusterUse(), NO_ACCESS)
    before = parts(tmp_path)
    seen = remember_use(UseHistory(str(tmp_path)), snapshot(2_000, 6), ClusterUse(), NO_ACCESS, save=False)
    assert seen.topics["t"].last_written == Interval(1_000, 2_000)
    assert parts(tmp_path) == before


def test_without_a_history_or_a_cluster_id_nothing_is_saved(tmp_path: Path) -> None:
    for history, cluster in ((UseHistory(None), CLUSTER), (UseHistory(str(tmp_path)), None)):
        seen = remember_use(history, snapshot(1_000, 5, cluster), ClusterUse(), NO_ACCESS)
        assert seen.topics["t"].observed_since == 1_000
        assert not seen.notes
    assert not parts(tmp_path)


def test_runs_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    base = records_at(1_000, 3)
    saved(tmp_path, base)
    runs = [UseHistory(str(tmp_path)) for _ in range(3)]
    loaded = [run.load(CLUSTER) for run in runs]
    assert loaded == [base] * 3
    for number, run in enumerate(runs, 2):
        run.save(records_at(1_000 * number, 3 + number, base))
    assert len(parts(tmp_path)) == 3
    last = UseHistory(str(tmp_path))
    joined = last.load(CLUSTER)
    assert joined.observed_at == 4_000
    (use,) = joined.topic_uses().values()
    assert (use.observed_since, use.last_read) == (1_000, Interval(1_000, 4_000))
    last.save(joined)
    assert len(parts(tmp_path)) == 1


def test_clusters_share_a_folder(tmp_path: Path) -> None:
    other = remember(UseRecords("other"), UseObservation("other", 1_000, {}))
    saved(tmp_path, other)
    ours = UseHistory(str(tmp_path))
    assert ours.load(CLUSTER) == UseRecords(CLUSTER)
    ours.save(records_at(2_000, 3))
    assert UseHistory(str(tmp_path)).load("other") == other


def cut(part: Path) -> None:
    file = part / "use.json.gz"
    file.write_bytes(file.read_bytes()[:-20])


def foreign(part: Path) -> None:
    marker = json.loads((part / "_complete").read_text())
    (part / "_complete").write_text(json.dumps({**marker, "format": 99}))


def rewritten(content: bytes) -> Callable[[Path], None]:
    def damage(part: Path) -> None:
        (part / "use.json.gz").write_bytes(content)

    return damage


def lost(part: Path) -> None:
    (part / "use.json.gz").unlink()


@pytest.mark.parametrize(
    ("damage", "note"),
    [
        (cut, "has a damaged part"),
        (rewritten(b""), "has a damaged part"),
        (rewritten(gzip.compress(b"{")), "has a damaged part"),
        (lost, "has a damaged part"),
        (lambda part: (part / "_complete").write_bytes(b"\xff\xfe"), "has a damaged part"),
        (lambda part: (part / "_complete").write_bytes(b"[]"), "has a damaged part"),
        (lambda part: (part / "_complete").write_bytes(b""), "has a damaged part"),
        (foreign, "has a part of another version"),
        (lambda part: (part / "_complete").unlink(), None),  # a run that was killed
    ],
)
def test_a_part_that_cannot_be_used_is_noted_and_ignored(
    damage: Callable[[Path], object], note: str | None, tmp_path: Path
) -> None:
    good = records_at(1_000, 3)
    saved(tmp_path, good)
    bad = saved(tmp_path, records_at(2_000, 4))
    damage(bad)
    history = UseHistory(str(tmp_path))
    assert history.load(CLUSTER) == good
    assert [(note or "no note") in each for each in history.notes] == ([True] if note else [])
    history.save(records_at(3_000, 5, good))
    assert bad.is_dir(), "what is not understood is not deleted"
    if note is None:
        os.utime(bad, (0, 0))
        UseHistory(str(tmp_path)).save(records_at(4_000, 5, good))
        assert not bad.exists()


@pytest.mark.parametrize("file", ["_complete", "use.json.gz"])
def test_a_part_that_another_run_deletes_meanwhile_is_found_in_its_successor(file: str, tmp_path: Path) -> None:
    old = saved(tmp_path, records_at(1_000, 3))

    racing: list[str] = []

    class Racing(LocalFiles):
        def read(self, url: str) -> bytes | None:
            if url.endswith(f"{old.name}/{file}") and not racing:
                racing.append(url)
                other = UseHistory(str(tmp_path))
                other.save(records_at(2_000, 4, other.load(CLUSTER)))
            return super().read(url)

    history = UseHistory(str(tmp_path), Racing())
    assert history.load(CLUSTER).observed_at == 2_000
    assert not history.notes


def test_a_history_of_which_a_part_cannot_be_read_stays_as_it_is(tmp_path: Path) -> None:
    saved(tmp_path, records_at(1_000, 3))
    unreadable = saved(tmp_path, remember(UseRecords("other"), UseObservation("other", 2_000, {})))
    before = parts(tmp_path)

    class Failing(LocalFiles):
        def read(self, url: str) -> bytes | None:
            if unreadable.name in url:
                raise OSError(errno.ESTALE, "Stale file handle", url)
            return super().read(url)

    seen = remember_use(UseHistory(str(tmp_path), Failing()), snapshot(3_000, 5), ClusterUse(), NO_ACCESS)
    assert seen.topics["t"].observed_since == 3_000
    assert ["Stale file handle" in note and "not saved" in note for note in seen.notes] == [True]
    assert parts(tmp_path) == before


def test_what_happened_while_the_history_could_not_be_read_is_seen_later(tmp_path: Path) -> None:
    class Failing(LocalFiles):
        def names(self, url: str) -> list[tuple[str, int]]:
            raise OSError("SlowDown")

    for at, end, files in ((1_000, 5, None), (2_000, 6, Failing()), (3_000, 6, None)):
        seen = remember_use(UseHistory(str(tmp_path), files), snapshot(at, end), ClusterUse(), NO_ACCESS)
    assert seen.topics["t"].last_written == Interval(1_000, 3_000)


def test_a_history_that_changes_at_each_attempt_stays_as_it_is(tmp_path: Path) -> None:
    saved(tmp_path, records_at(1_000, 3))
    deleted = saved(tmp_path, records_at(2_000, 4))

    class Changing(LocalFiles):
        def exists(self, url: str) -> bool:
            return deleted.name not in url and super().exists(url)

        def read(self, url: str) -> bytes | None:
            return None if f"{deleted.name}/use.json.gz" in url else super().read(url)

    history = UseHistory(str(tmp_path), Changing())
    assert history.load(CLUSTER) == UseRecords(CLUSTER)
    assert ["change it again and again" in note for note in history.notes] == [True]
    before = parts(tmp_path)
    history.save(records_at(3_000, 5))
    assert parts(tmp_path) == before


def test_a_clock_behind_the_history_concludes_and_saves_nothing(tmp_path: Path) -> None:
    now = int(time.time() * 1000)
    later = remember_use(UseHistory(str(tmp_path)), snapshot(now + 3_600_000, 5), ClusterUse(), NO_ACCESS)
    before = parts(tmp_path)
    seen = remember_use(UseHistory(str(tmp_path)), snapshot(now, 9), ClusterUse(), NO_ACCESS)
    assert (seen.observed_at, seen.topics["t"].last_written, len(seen.previous)) == (now, None, 0)
    (note,) = seen.notes
    assert f"was saved at {utc(now + 3_600_000)}, but the clock of this machine says" in note
    assert parts(tmp_path) == before
    assert UseHistory(str(tmp_path)).load(CLUSTER).observed_at == later.observed_at


def test_an_observation_that_another_run_has_overtaken_is_united_with_the_later_one(tmp_path: Path) -> None:
    remember_use(UseHistory(str(tmp_path)), snapshot(1_000, 5), ClusterUse(), NO_ACCESS)
    remember_use(UseHistory(str(tmp_path)), snapshot(3_000, 6), ClusterUse(), NO_ACCESS)
    use = ClusterUse((ConsumerGroup("g", "Stable", 1, {("t", 0): 5}, frozenset({("t", 0)})),))
    seen = remember_use(UseHistory(str(tmp_path)), snapshot(2_000, 9), use, NO_ACCESS)
    topic = seen.topics["t"]
    assert (topic.observed_since, topic.observed_at, topic.last_written) == (1_000, 3_000, Interval(1_000, 3_000))
    assert [(user.name, user.last, user.active) for user in topic.users] == [("g", Interval(2_000, 2_000), False)]
    assert UseHistory(str(tmp_path)).load(CLUSTER).topic_uses()["t"] == topic
    assert not seen.notes


def test_a_folder_that_cannot_be_read_or_written_is_noted(tmp_path: Path) -> None:
    (tmp_path / "v4").write_text("a file")
    seen = remember_use(UseHistory(str(tmp_path)), snapshot(1_000, 5), ClusterUse(), NO_ACCESS)
    assert seen.topics["t"].observed_since == 1_000
    assert ["cannot be read" in note for note in seen.notes] == [True]
    history = UseHistory(str(tmp_path))
    history.save(records_at(1_000, 3))
    assert ["cannot be written" in note for note in history.notes] == [True]


def test_a_part_that_cannot_be_deleted_is_noted_and_the_others_are_deleted(tmp_path: Path) -> None:
    foreign, ours = saved(tmp_path, records_at(1_000, 3)), saved(tmp_path, records_at(2_000, 3))

    class Protected(LocalFiles):
        def delete(self, url: str) -> None:
            if foreign.name in url:
                raise PermissionError(errno.EACCES, "Permission denied", url)
            super().delete(url)

    seen = remember_use(UseHistory(str(tmp_path), Protected()), snapshot(3_000, 5), ClusterUse(), NO_ACCESS)
    assert ["has an old part that cannot be deleted" in note for note in seen.notes] == [True]
    assert (foreign.exists(), ours.exists(), len(parts(tmp_path))) == (True, False, 2)


@given(st.binary(max_size=60))
def test_any_content_of_a_part_is_noted(content: bytes) -> None:
    class Junk(LocalFiles):
        def names(self, url: str) -> list[tuple[str, int]]:
            return [("0000000000001-a", 0)]

        def exists(self, url: str) -> bool:
            return True

        def read(self, url: str) -> bytes | None:
            return content

    history = UseHistory("/nowhere", Junk())
    assert history.load(CLUSTER) == UseRecords(CLUSTER)
    assert len(history.notes) == 1
