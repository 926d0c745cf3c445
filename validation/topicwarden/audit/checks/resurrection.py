"""Deleted keys stay deleted.

**fail**: an audit saw a tombstone as the last record of a key, committed, and a later audit finds the last record of
the key at a *lower* offset. The cleaner removes the records that a tombstone supersedes before it removes the
tombstone, so no cleaning can cause this. The cause is a replica that comes back after more than
``delete.retention.ms``: it never received the tombstone, and the other replicas no longer have it.

Audits remember some deleted keys of each partition, by their 64-bit hash, because deleted keys seldom come back alone.
The check starts once an audit has seen a tombstone. If the leader has changed since, the audit asks it where the
records of the earlier leader epoch end. A tombstone from that offset on was lost with the end of the log, and the audit
forgets it.

Example: a broker was down for two days with ``delete.retention.ms=1d``, then became leader: deleted users are back.

Confirm: ``kafka-dump-log --print-data-log --files`` on two replicas shows that only one has the key.

Remedy: send the tombstones again; set ``delete.retention.ms`` to more than the longest downtime of a replica.

Prevent: replace a broker that was down for longer than ``delete.retention.ms`` with an empty disk.

Source: KIP-101 and KIP-534; reported in 2026 with a reproducer for Kafka 3.9 to 4.2.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.evidence import ApacheLog, Counts, LiveSettings, PreviousState
from topicwarden.model.verdict import Verdict


class Required(LiveSettings, PreviousState, Counts, ApacheLog): ...


def applies(subject: PreviousState) -> bool:
    return subject.compacted and bool(subject.previous.tombstones)


def judge(subject: Required) -> Iterable[CheckResult]:
    epochs = {state.partition: state.leader_epoch for state in subject.live.replicas}
    tombstones = {
        (tombstone.partition, tombstone.key): tombstone.offset
        for tombstone in subject.previous.tombstones
        if tombstone.leader_epoch is not None and tombstone.leader_epoch == epochs.get(tombstone.partition)
    }
    for partition, counts in sorted(subject.counts.items()):
        resurrected = [
            (tombstones[partition, key], offset)
            for key, offset in counts.resurrected
            if offset < tombstones.get((partition, key), 0)
        ]
        if resurrected:
            tombstone_offset, found_offset = resurrected[0]
            yield CheckResult(
                Verdict.FAIL,
                f"a key that was deleted at offset {tombstone_offset:,} is back: "
                f"its last record is at offset {found_offset:,}",
                path=("config", "delete.retention.ms"),
                partitions=(partition,),
                because=(
                    "the cleaner removes the records that a tombstone supersedes before it removes the tombstone",
                    "a replica that was down for longer than delete.retention.ms brings deleted keys back",
                ),
                remedy="send the tombstones again; "
                "set delete.retention.ms to more than the longest downtime of a replica",
                evidence={
                    "tombstone_offset": tombstone_offset,
                    "found_offset": found_offset,
                    "keys_found": len(resurrected),
                    "delete.retention.ms": subject.number("delete.retention.ms"),
                },
            )
