"""Brokers will compress batches again, because `compression.type` changes, and refuse those that become too large.

``max.message.bytes`` also applies to the batch as the broker writes it (``UnifiedLog.append`` checks the batches again
if ``LogValidator`` has changed their sizes). With ``uncompressed``, every batch counts with its full size. With
``producer``, brokers keep the batch as it is.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.plan.consequence_text import size

AVOIDABLE = True
_SETTING, _LIMIT = "compression.type", "max.message.bytes"


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    if not change.changed(_SETTING) or change.after is None or change.after.config.get(_SETTING) == "producer":
        return None
    return RequiredEvidence(batches=True)


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.after
    codec, limit = change.after.config.get(_SETTING), change.after.number(_LIMIT)
    largest = max(evidence.largest_batches.values(), default=None)
    yield Consequence(
        kind="recompression",
        severity=Severity.DANGER if codec == "uncompressed" else Severity.NOTE,
        message=f"{_SETTING} will be {codec}: brokers compress each batch again, and refuse those that are then larger "
        f"than {_LIMIT}" + ("" if limit is None else f" of {size(limit)}"),
        because=[] if largest is None else [f"the largest of the newest batches has {size(largest)} now"],
        measured="the newest batches of each partition",
        remedy=f"raise {_LIMIT} to the largest batch without compression, or keep {_SETTING}: producer",
        evidence={_LIMIT: limit, "largest_batch": largest},
        location=change.at("config", _SETTING),
    )
