"""Large batches will be refused, because `max.message.bytes` is lowered.

The limit applies to the compressed batch (``UnifiedLog.analyzeAndValidateRecords``). Existing batches stay readable.
Producers that send larger batches get RECORD_TOO_LARGE.
"""

from collections.abc import Iterable

from topicwarden.kafka.record_batches import NEWEST
from topicwarden.model.planned_change import Consequence, PartitionEffect, Severity
from topicwarden.plan.plan_evidence import PlanEvidence, RequiredEvidence
from topicwarden.plan.topic_change import TopicChange
from topicwarden.plan.wording import count, records_of, size

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
    over = {partition: found for partition, found in sorted(evidence.largest_batches.items()) if found > limit}
    largest = max(evidence.largest_batches.values(), default=0)
    yield Consequence(
        kind="max-message",
        weight=Severity.DANGER if over else Severity.NOTE,
        message=f"batches above {size(limit)} will be refused; "
        + (
            f"{count(len(over), 'partition')} have larger batches, up to {size(largest)}"
            if over
            else f"the largest of the newest batches has {size(largest)}"
            if largest
            else "the newest batches could not be read (Read on the topic)"
            if change.live is not None and records_of(change.live)
            else "the topic has no batch to compare with"
        ),
        because=["existing batches stay readable; a producer that sends larger ones gets RECORD_TOO_LARGE"]
        if over
        else [],
        measured=f"the newest batches of each partition, of at most {NEWEST:,} offsets",
        remedy="lower the producers' max.request.size and batch.size first" if over else "",
        evidence={_SETTING: limit, "largest_batch": largest or None, "partitions": len(over) if largest else None},
        partitions=[PartitionEffect(partition=partition, bytes=found) for partition, found in over.items()],
        place=change.at("config", _SETTING),
    )
