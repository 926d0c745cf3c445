"""Tombstones go when their time has come.

The first cleaning that meets a tombstone stamps its batch with the time + ``delete.retention.ms``; a cleaning after
that moment removes it. Its own age proves nothing.

**fail**, after at least four looks at one replica that led all the time (leader epoch): the cleaner had passed the
tombstone by the look at T1, as it had taken away a record behind it; at a look after T1 + ``delete.retention.ms`` the
log ended at some offset; a record from there on was cleaned away since, so that a whole cleaning took place after the
moment; and the tombstone still stands. Settings unchanged throughout. Not looked at in a first audit.

Example: a broker from before KIP-534, where markers and tombstones were kept for ever by a cleaning that always moved
their horizon on (KAFKA-4545, KAFKA-8522).

Remedy: upgrade; look whether ``delete.retention.ms`` is what is meant.

Source: KIP-534, ``Cleaner.cleanInto``, ``RecordBatch.deleteHorizonMs``.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.persistence import cleaned_away, extent, replicas, same_leader
from topicwarden.audit.collect.horizon import CLOCK_MS
from topicwarden.audit.history.topic_state import RememberedRecord
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits(reads_records=True, needs_previous_audit=True)
CHECK = "tombstone-retention"
RESTS_ON = ("cleanup.policy", "delete.retention.ms")


def applies(subject: AuditedTopic) -> bool:
    return subject.compacted and subject.past.state is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    for stone in sorted(subject.past.still_present, key=lambda one: (one.partition, one.offset)):
        if stone.superseded_by is None and same_leader(subject, stone.partition):
            yield from _judged(subject, stone)


def _judged(subject: AuditedTopic, stone: RememberedRecord) -> Iterable[CheckResult]:
    """From look to look: passed by the cleaner (T1), then ripe (where the log ended), then left by a cleaning."""
    partition, log, state = stone.partition, extent(subject, stone.partition), replicas(subject, stone.partition)
    kept = subject.past.state.open_finding(CHECK, partition) if subject.past.state else None
    if log is None or state is None or state.leader_epoch is None:
        return
    passed = {"offset": stone.offset, "epoch": state.leader_epoch}
    taken = [one.offset for one in cleaned_away(subject, partition)]
    if kept is None or kept.settings != subject.in_force(RESTS_ON) or not passed.items() <= kept.facts.items():
        if any(offset > stone.offset for offset in taken):
            yield CheckResult(Verdict.PASS, "", standing={partition: passed}, rests_on=RESTS_ON)
        return
    retention = subject.number("delete.retention.ms") or 0
    cleaned_at, ripe_from = kept.facts.get("cleaned_at", kept.since), kept.facts.get("ripe_from")
    if ripe_from is None:
        ripe = subject.snapshot.taken_at > cleaned_at + retention + CLOCK_MS
        facts = {**passed, "cleaned_at": cleaned_at, "ripe_from": log.end} if ripe else passed
        yield CheckResult(Verdict.PASS, "", standing={partition: facts}, rests_on=RESTS_ON)
        return
    left = [offset for offset in taken if offset >= ripe_from]
    yield CheckResult(
        Verdict.FAIL if left else Verdict.PASS,
        f"the tombstone at offset {stone.offset:,} still stands, though a cleaning took place when its time had come"
        if left
        else "",
        path=("config", "delete.retention.ms"),
        partitions=(partition,) if left else (),
        because=(
            f"the cleaner had passed it {subject.snapshot.taken_at - cleaned_at:,} ms ago at the latest, and "
            f"delete.retention.ms is {retention:,}",
            f"offset {left[0]:,}, written after that time had passed, was cleaned away since",
        )
        if left
        else (),
        remedy="look at the brokers' version and log-cleaner.log" if left else "",
        evidence={"offset": stone.offset, "delete.retention.ms": retention},
        standing={partition: dict(kept.facts)},
        rests_on=RESTS_ON,
    )
