"""Test audits at the same time, and clocks that differ: an audit compares only with earlier snapshots."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.repeated_audits import COMPACT, MINUTE, Log
from tests.support.subjects import NOW
from topicwarden.audit.history.audit_history import AuditHistory
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.usage.history_files import VERSION, LocalFiles


@pytest.fixture
def history(tmp_path: Path) -> AuditHistory:
    return AuditHistory(lambda: pytest.fail("needs no Spark"), str(tmp_path))


def save(history: AuditHistory, log: Log) -> None:
    log.look()
    assert log.last
    history.save([log.last], log.now)


def test_a_state_that_another_audit_saved_after_the_snapshot_is_not_compared(history: AuditHistory) -> None:
    earliest = Log({}, COMPACT, now=NOW - MINUTE, end=90, counts=PartitionCounts(records=2))
    save(history, earliest)
    save(history, replace(earliest, now=NOW + 5_000, end=200, deleted=((5, 150),)))
    log = replace(earliest, now=NOW, end=100, resurrected=((5, 50),))
    log.last = history.last_states("c", NOW)["t"]
    assert log.last.taken_at == NOW - MINUTE
    assert log.look().keys().isdisjoint({"log-truncated", "resurrection"})
    assert "states of a later audit" in history.notes[0]


def test_a_part_that_cannot_be_deleted_is_noted_and_the_others_are_deleted(
    history: AuditHistory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states, delete = tmp_path / VERSION / "states", LocalFiles.delete
    for name in ("0000000000001-foreign", "0000000000002-ours"):
        (states / name).mkdir(parents=True)
        os.utime(states / name, (0, 0))

    def protected(files: LocalFiles, url: str) -> None:
        if "foreign" in url:
            raise PermissionError(errno.EACCES, "Permission denied", url)
        delete(files, url)

    monkeypatch.setattr(LocalFiles, "delete", protected)
    save(history, Log({}, COMPACT))
    assert ["has an old part that cannot be deleted" in note for note in history.notes] == [True]
    assert (states / "0000000000001-foreign").is_dir()
    assert not (states / "0000000000002-ours").exists()
    assert history.last_states("c").keys() == {"t"}


@pytest.mark.parametrize("ahead", [0, 1])
def test_without_an_earlier_state_the_topic_counts_as_never_audited(history: AuditHistory, ahead: int) -> None:
    save(history, Log({}, COMPACT, now=NOW + ahead))
    assert history.last_states("c", NOW) == {}
    assert len(history.notes) == 1


def test_an_audit_after_all_others_has_no_note(history: AuditHistory) -> None:
    save(history, Log({}, COMPACT, now=NOW - 1))
    assert history.last_states("c", NOW).keys() == {"t"}
    assert history.notes == []
