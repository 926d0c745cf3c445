"""Define cases for the checks of deleted keys."""

from __future__ import annotations

from dataclasses import replace

from tests.support.repeated_audits import COMPACT as COMPACTED
from tests.support.repeated_audits import MINUTE, Log
from tests.support.subjects import subject
from tests.unit.checks.cases import (
    COMPACT,
    DELETE,
    FAIL,
    Case,
    seen_again,
)
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.compare_audits import topic_state
from topicwarden.audit.history.topic_state import KnownTombstone, PreviousAudit, RememberedRecord
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.kafka.read.snapshot import PartitionReplicas
from topicwarden.model.units import duration_text

RIPE_MS = 10 * MINUTE + 5_000
"""``delete.retention.ms``, plus the clock tolerance."""


def tombstone(
    waited: int = RIPE_MS + 1, *, end: int = 100, passed: bool = True, deleted: bool = True, **changed: object
) -> AuditedTopic:
    """Return a topic with a tombstone at offset 3 that is still present at the fifth audit.

    A cleaning removes offset 10 before the second audit (with ``passed``; otherwise offset 1, below the tombstone).
    The third audit is ``waited`` ms later, when the log ends at ``end``. Offset 100 is removed before the fifth audit.
    Without ``deleted``, offset 3 holds a record that offset 4 supersedes.
    """
    gone = 10 if passed else 1
    log = Log(
        {3: 9, gone: 1, gone + 1: 1}, COMPACTED, counts=PartitionCounts(records=3), deleted=((9, 3),) if deleted else ()
    )
    if not deleted:
        log.records |= {4: 9}
    log.look()
    del log.records[gone]
    log.look(after=MINUTE)
    log.end = end
    log.look(after=waited)
    log.records |= {100: 6, 101: 6}
    log.end = 102
    return seen_again(log, MINUTE, records={at: key for at, key in log.records.items() if at != 100}, **changed)


def another_tombstone() -> AuditedTopic:
    """Return a topic whose tombstone at offset 3 is gone. One at offset 20 is present, with no further history."""
    of = tombstone()
    return replace(of, past=replace(of.past, still_present=frozenset({RememberedRecord(0, 20, 8, None)})))


KEPT_A_DAY = {**COMPACT, "delete.retention.ms": "86400000"}


def resurrected(
    offset: int, key: int = 5, partition: int = 0, *, live: dict[str, str] = KEPT_A_DAY, epoch: int | None = 7
) -> AuditedTopic:
    """Return a topic with a key whose last record is at ``offset``.

    The last audit saw that key 5 was deleted at offset 50 of ``partition``, in the leader epoch 7. Now it is ``epoch``.
    """
    of = subject(PartitionCounts(records=1, resurrected=((key, offset),)), live=live)
    assert of.live
    earlier = tuple(PartitionReplicas(each, 1, (1, 2, 3), (1, 2, 3), 7) for each in range(2))
    of = replace(of, live=replace(of.live, replicas=earlier))
    past = PreviousAudit(topic_state(of, {}, [KnownTombstone(partition, 50, 5)], {}))
    now = tuple(replace(each, leader_epoch=epoch) for each in earlier)
    assert of.live
    return replace(of, past=past, live=replace(of.live, replicas=now))


CASES = (
    Case(
        "tombstone-retention",
        "a cleaning left it when its time had come",
        tombstone(),
        (FAIL,),
        partitions=(0,),
        evidence={"offset": 3, "delete.retention.ms": 10 * MINUTE},
        says=f"the cleaner had passed the tombstone at least {duration_text(RIPE_MS + 1 + MINUTE)} ago, and "
        "delete.retention.ms is 10m the cleaner has since removed offset 100",
    ),
    Case("tombstone-retention", "a cleaning left it when its time had just not come", tombstone(RIPE_MS), ()),
    Case("tombstone-retention", "what was cleaned since was older", tombstone(end=101), ()),
    Case("tombstone-retention", "no cleaning had passed it", tombstone(passed=False), ()),
    Case("tombstone-retention", "a superseded record", tombstone(deleted=False), ()),
    Case("tombstone-retention", "another tombstone", another_tombstone(), ()),
    Case("tombstone-retention", "another leader", tombstone(epoch=8), ()),
    Case("tombstone-retention", "another setting", tombstone(settings={**COMPACTED, "delete.retention.ms": "1"}), ()),
    Case("tombstone-retention", "never seen before", subject(live=COMPACT), None),
    Case("tombstone-retention", "not compacted", tombstone(settings=DELETE), None),
    Case(
        "resurrection",
        "below its tombstone",
        resurrected(49),
        (FAIL,),
        partitions=(0,),
        evidence={"tombstone_offset": 50, "found_offset": 49, "keys_found": 1, "delete.retention.ms": 86_400_000},
        says="brings deleted keys back",
    ),
    Case("resurrection", "written after its tombstone", resurrected(51), ()),
    Case("resurrection", "at its tombstone", resurrected(50), ()),
    Case("resurrection", "another key, at the first offset", resurrected(0, key=6), ()),
    Case("resurrection", "another key", resurrected(49, key=6), ()),
    Case("resurrection", "of another partition", resurrected(49, partition=1), ()),
    Case("resurrection", "not compacted", resurrected(49, live=DELETE), None),
    Case("resurrection", "a leader whose log may lack the tombstone", resurrected(49, epoch=8), ()),
    Case("resurrection", "the leader changed during the audit", resurrected(49, epoch=None), ()),
    Case(
        "resurrection",
        "no tombstone was seen",
        replace(resurrected(49), past=PreviousAudit(topic_state(subject(live=COMPACT), {}, [], {}))),
        None,
    ),
    Case("resurrection", "never seen before", replace(resurrected(49), past=PreviousAudit()), None),
)
