"""Larger batches would be refused: `max.message.bytes` goes down.

The limit counts the compressed batch (``UnifiedLog.analyzeAndValidateRecords``); what is written already stays
readable. Producers that send larger ones get RECORD_TOO_LARGE.
"""

from collections.abc import Iterable

from topicwarden.change import Consequence, PartitionEffect, Weight
from topicwarden.kafka.batches import NEWEST
from topicwarden.plan.change import Change
from topicwarden.plan.consequences.wording import count, records_of, size
from topicwarden.plan.evidence import Evidence, Needs

_SETTING = "max.message.bytes"


def needs(change: Change, now: int) -> Needs | None:
    if change.before is None or change.after is None:
        return None
    before, after = change.before.number(_SETTING), change.after.number(_SETTING)
    return Needs(batches=True) if before is not None and after is not None and after < before else None


def evaluate(change: Change, evidence: Evidence) -> Iterable[Consequence]:
    assert change.after
    limit = change.after.number(_SETTING) or 0
    over = {partition: found for partition, found in sorted(evidence.largest_batches.items()) if found > limit}
    largest = max(evidence.largest_batches.values(), default=0)
    yield Consequence(
        kind="max-message",
        weight=Weight.DANGER if over else Weight.NOTE,
        message=f"batches above {size(limit)} will be refused; "
        + (
            f"{count(len(over), 'partition')} hold larger ones, up to {size(largest)}"
            if over
            else f"the largest of the newest is {size(largest)}"
            if largest
            else "the newest could not be read (Read on the topic)"
            if change.live is not None and records_of(change.live)
            else "there is none to compare with"
        ),
        because=["what was written stays readable; a producer that sends more gets RECORD_TOO_LARGE"] if over else [],
        measured=f"the newest batches of each partition, of at most {NEWEST:,} offsets",
        remedy="lower the producers' max.request.size and batch.size first" if over else "",
        evidence={_SETTING: limit, "largest_batch": largest or None, "partitions": len(over) if largest else None},
        partitions=[PartitionEffect(partition=partition, bytes=found) for partition, found in over.items()],
        place=change.at("config", _SETTING),
    )
