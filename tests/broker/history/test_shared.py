"""Test a history on disks that Spark's executors do not share.

The audit must refuse such a history before a scan, and must never mark it as complete.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from tests.conftest import REPOSITORY
from topicwarden.audit import run
from topicwarden.audit.history.store import HistoryPart, HistoryStore, HistoryUnavailable
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.operations.audit import AuditOptions, auditing

OWN = "file:///proc/self/cwd/history"
"""A different folder for each process, because Spark starts each executor in its own working directory."""


@dataclass(frozen=True)
class Found:
    """The histories, by address, of a driver with two executors in separate processes; and the driver's folder."""

    folder: Path
    shared: str
    answers: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def found(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Found:
    home, folder = tmp_path_factory.mktemp("spark"), tmp_path_factory.mktemp("driver")
    for entry in Path(pyspark.__file__).parent.iterdir():  # executors start in SPARK_HOME/work
        (home / entry.name).symlink_to(entry)
    shared = (folder / "shared").as_uri()
    done = subprocess.run(
        [sys.executable, "-m", "tests.broker.history.two_executors", str(project.root), OWN, shared],
        cwd=folder,
        env={**os.environ, "SPARK_HOME": str(home), "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'validation'}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    return Found(folder, shared, json.loads(done.stdout.splitlines()[-1]))


def test_a_history_on_local_disks_is_refused_and_not_marked_complete(found: Found) -> None:
    own = found.answers[OWN]
    assert "do not write to the disk that the driver reads" in own["refused"]
    assert "--history none" in own["refused"]
    (note,) = own["notes"]
    assert "cannot be written: 1 rows were written to" in note
    assert "0 can be read back" in note
    assert (own["looks"], own["parts"]) == ([], 0)
    assert "1,000 rows were written" in own["keys"]
    assert list((found.folder / "history").rglob("_complete")) == []


def test_a_shared_disk_is_used_for_the_history(found: Found) -> None:
    assert found.answers[found.shared] == {"refused": "", "notes": [], "looks": ["t"], "keys": "", "parts": 1}
    assert list((found.folder / "shared").glob("v3/probe/*")) == []


class _Cut(HistoryStore):
    """A store whose files disappear between the write and the read-back, as on a disk that is cleared meanwhile."""

    def read(self, folder: str, parts: Iterable[HistoryPart], schema: str | StructType, within: str = "") -> DataFrame:
        parts = list(parts)
        for part in parts:
            for file in Path(self.path(folder, part.name).removeprefix("file:")).glob("*.parquet"):
                file.unlink()
        return super().read(folder, parts, schema, within)


def test_a_history_part_that_cannot_be_read_back_is_not_complete(spark: SparkSession, tmp_path: Path) -> None:
    store = _Cut(spark, str(tmp_path / "history"))
    with pytest.raises(HistoryUnavailable, match=r"10 rows were written to .*, and 0 can be read back"):
        store.write("looks", "0000000000001-a", spark.range(10))
    assert store.parts("looks") == []


def test_an_audit_refuses_before_it_scans(
    project: Project, servers: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(HistoryStore, "is_shared", lambda _: False)
    monkeypatch.setattr(run, "gather_despite_changes", lambda *_: pytest.fail("it was scanned"))
    with (
        auditing(project, "dev", options=AuditOptions(str(tmp_path / "history"))) as look,
        pytest.raises(Refusal) as refused,
    ):
        look(())
    assert "--history none" in str(refused.value)
