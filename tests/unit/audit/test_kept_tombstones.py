"""Test which remembered tombstones prove that a deleted key is back, after the leader has changed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import pytest

from tests.support.repeated_audits import COMPACT, MINUTE, Log
from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.history import remembered_records
from topicwarden.audit.history.topic_state import KnownTombstone
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.verdict import Verdict

AT = ("t", 0)


@dataclass
class Leader:
    """A leader whose log ends at ``ends`` for each earlier leader epoch. It does not answer for others."""

    ends: Mapping[int, int]
    requested: list[int] = field(default_factory=list)

    def epoch_ends(
        self, epochs: Mapping[TopicPartition, int], leaders: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        assert epochs.keys() == {AT} and leaders[AT] == 1
        self.requested.append(epochs[AT])
        return {AT: self.ends[epochs[AT]]} if epochs[AT] in self.ends else {}


@pytest.fixture
def log() -> Log:
    """A log after an audit in leader epoch 7 that saw key 5 deleted at offset 60."""
    log = Log({1: 5, 60: 5}, COMPACT, counts=PartitionCounts(records=2), deleted=((5, 60),))
    log.look()
    log.deleted, log.epoch, log.end = (), 8, 101
    return log


def look(log: Log, leader: Leader, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Audit the log again, and return whether the deleted key is back."""
    monkeypatch.setattr(remembered_records, "open_cluster", lambda _: nullcontext(leader))
    assert log.last
    snapshot = log.subject().snapshot
    log.last = remembered_records.with_kept_tombstones(Connection(("b:9092",)), snapshot, {"t": log.last})["t"]
    found = log.look(after=MINUTE).get("resurrection")
    return found is not None and found.verdict is Verdict.FAIL


def remembered(log: Log) -> list[KnownTombstone]:
    """Return the tombstones that the last audit remembered."""
    assert log.last
    return list(log.last.tombstones)


def test_a_tombstone_that_was_truncated_is_forgotten(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unclean election truncates the log to offset 50, and a producer writes the key again at offset 55."""
    log.resurrected, leader = ((5, 55),), Leader({7: 50})
    assert not look(log, leader, monkeypatch)
    assert remembered(log) == []
    log.deleted = ((5, 58),)
    assert not look(log, leader, monkeypatch)
    assert leader.requested == [7]
    assert remembered(log) == [KnownTombstone(0, 58, 5, 8)]


@pytest.mark.parametrize(("end", "known"), [(60, False), (61, True), (100, True)])
def test_a_new_leader_with_the_tombstone_in_its_history_is_compared(
    log: Log, monkeypatch: pytest.MonkeyPatch, end: int, known: bool
) -> None:
    log.resurrected = ((5, 1),)
    assert look(log, Leader({7: end}), monkeypatch) is known
    again = Leader({})
    assert look(log, again, monkeypatch) is known
    assert again.requested == []
    log.epoch = 9
    assert look(log, Leader({8: 101}), monkeypatch) is known


def test_a_tombstone_is_kept_until_a_leader_answers(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    log.resurrected = ((5, 1),)
    assert not look(log, Leader({}), monkeypatch)
    log.epoch = None  # the leader changes during the audit
    assert not look(log, Leader({}), monkeypatch)
    log.epoch = 9
    assert look(log, Leader({7: 100}), monkeypatch)


def test_a_tombstone_without_a_leader_epoch_is_not_remembered(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """The histories of earlier versions have no leader epochs."""
    assert log.last
    log.last = replace(log.last, tombstones=(KnownTombstone(0, 60, 5),))
    log.resurrected, log.epoch, leader = ((5, 1),), 7, Leader({})
    assert not look(log, leader, monkeypatch)
    assert (remembered(log), leader.requested) == ([], [])
    log.deleted, log.epoch = ((5, 60),), None
    assert not look(log, leader, monkeypatch)
    assert remembered(log) == []
