"""Large batches will be refused, because `max.message.bytes` is lowered.

The limit applies to the compressed batch (``UnifiedLog.analyzeAndValidateRecords``). Existing batches stay readable.
Producers that send larger batches get RECORD_TOO_LARGE.
"""

from collections.abc import Iterable

from topicwarden.kafka.read.record_batches import NEWEST
from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import Consequence, PartitionEffect, Severity
from topicwarden.plan.consequence_text import records_of, size

AVOIDABLE = False
_SETTING = "max.message.bytes"


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    if change.before is None or change.after is None:
        return None
    before, after = change.before.number(_SETTING), change.after.number(_SETTING)
    return RequiredEvidence(batches=True) if before is not None and after is not None and after < before else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.after
    limit = change.after.number(_SETTING) or 0
    too_large = {
        partition: largest_batch
        for partition, largest_batch in sorted(evidence.largest_batches.items())
        if largest_batch > limit
    }
    largest = max(evidence.largest_batches.values(), default=0)
    unread = not largest and change.live is not None and records_of(change.live) > 0
    yield Consequence(
        kind="max-message",
        severity=Severity.DANGER if too_large or unread else Severity.NOTE,
        message=f"batches above {size(limit)} will be refused; "
        + (
            f"{counted(len(too_large), 'partition')} {'has' if len(too_large) == 1 else 'have'} larger batches, up to "
            f"{size(largest)}"
            if too_large
            else f"the largest of the newest batches has {size(largest)}"
            if largest
            else "the newest batches could not be read (Read on the topic)"
            if unread
            else "the topic has no batch to compare with"
        ),
        because=["existing batches stay readable; a producer that sends larger ones gets RECORD_TOO_LARGE"]
        if too_large
        else [],
        measured=f"the newest batches of each partition, of at most {NEWEST:,} offsets",
        remedy="lower the producers' max.request.size and batch.size first" if too_large else "",
        evidence={_SETTING: limit, "largest_batch": largest or None, "partitions": len(too_large) if largest else None},
        partitions=[
            PartitionEffect(partition=partition, bytes=largest_batch) for partition, largest_batch in too_large.items()
        ],
        location=change.at("config", _SETTING),
    )
