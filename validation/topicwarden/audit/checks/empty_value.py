"""Nobody wrote an empty value for a tombstone.

**fail**: a value of zero length in a compacted topic. Only a null value is a tombstone; an empty one looks like a
deletion to whoever wrote it, and stays for ever. At least one of them is committed: what an aborted transaction wrote
goes with the next cleaning.

Example: ``2 empty values in a compacted topic (partition 1: 2, first at offset 40)``; a library turned null into "".

Remedy: write null, not "", to delete a key; send a real tombstone for each of these keys.

Source: ``DefaultRecord.hasValue``, ``Cleaner.shouldRetainRecord``.
"""

from collections.abc import Iterable

from topicwarden.audit.subject import Judgement, Subject
from topicwarden.verdict import Verdict


def applies(subject: Subject) -> bool:
    return subject.compacted


def judge(subject: Subject) -> Iterable[Judgement]:
    empty = {partition: counts for partition, counts in subject.counts.items() if counts.first_empty_value is not None}
    if not empty:
        return
    total = sum(counts.empty_values for counts in empty.values())
    places = "; ".join(
        f"partition {p}: {c.empty_values}, first at offset {c.first_empty_value}" for p, c in sorted(empty.items())
    )
    yield Judgement(
        Verdict.FAIL,
        f"{total:,} empty value{'s' if total > 1 else ''} in a compacted topic ({places})",
        path=("config", "cleanup.policy"),
        partitions=tuple(sorted(empty)),
        because=("an empty value is no tombstone: compaction keeps it as the key's latest value",),
        remedy="write null, not '', to delete a key; send a real tombstone for each of these keys",
        evidence={"empty_values": total},
    )
