"""What was deleted stays deleted.

**fail**: an audit saw a key's last record as a tombstone, one that consumers saw which read committed; a later one
finds the key with its last record *below* that offset. The cleaner takes away what a tombstone supersedes before
it takes the tombstone, so that no cleaning can leave this. It happens where a replica comes back that was away for
longer than ``delete.retention.ms``: it never saw the tombstone, and the others no longer have it.

Keys are remembered by their 64-bit hash, some of each partition, as what comes back seldom comes alone. Not looked
at before an audit has seen a tombstone.

Example: a broker was down for two days with ``delete.retention.ms=1d``, then led again: deleted users are back.

Remedy: send the tombstones again; keep ``delete.retention.ms`` longer than any replica may be away.

Source: KIP-534; reported in 2026 with a reproducer for Kafka 3.9 to 4.2.
"""

from collections.abc import Iterable

from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits
from topicwarden.model.verdict import Verdict

TRAITS = Traits(reads_records=True, needs_previous_audit=True)


def applies(subject: AuditedTopic) -> bool:
    return subject.compacted and subject.past.state is not None and bool(subject.past.state.tombstones)


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    assert subject.past.state
    graves = {(one.partition, one.key): one.offset for one in subject.past.state.tombstones}
    for partition, counts in sorted(subject.counts.items()):
        risen = [(graves[partition, key], at) for key, at in counts.resurrected if at < graves.get((partition, key), 0)]
        if risen:
            tombstone, found = risen[0]
            yield CheckResult(
                Verdict.FAIL,
                f"a key that was deleted at offset {tombstone:,} is back: its last record stands at offset {found:,}",
                path=("config", "delete.retention.ms"),
                partitions=(partition,),
                because=(
                    "a cleaning takes away what a tombstone supersedes before it takes the tombstone",
                    "a replica that was away for longer than delete.retention.ms brings deleted keys back",
                ),
                remedy="send the tombstones again; keep delete.retention.ms longer than any replica may be away",
                evidence={
                    "tombstone_offset": tombstone,
                    "found_offset": found,
                    "keys_found": len(risen),
                    "delete.retention.ms": subject.number("delete.retention.ms"),
                },
            )
