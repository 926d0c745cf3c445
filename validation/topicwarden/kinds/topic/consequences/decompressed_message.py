"""Large records will be refused, and disturb the cleaner, because `max.decompressed.message.bytes` is lowered.

The limit applies to each record that a broker decompresses. The compaction of a partition that already has a larger
record fails, and so do lookups of offsets by timestamp, until the limit is raised again.

Source: ``TopicConfig.MAX_DECOMPRESSED_MESSAGE_BYTES_DOC``, Kafka 4.4.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.plan.consequence_text import size

AVOIDABLE = True
_SETTING = "max.decompressed.message.bytes"


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence() if change.lowered(_SETTING) else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.after
    limit = change.after.number(_SETTING) or 0
    yield Consequence(
        kind="decompressed-message",
        severity=Severity.DANGER,
        message=f"records above {size(limit)} after decompression will be refused",
        because=["partitions that have larger records are not compacted any more, and offsets are not found by time"],
        remedy="look at the largest records first, which an audit reports",
        evidence={_SETTING: limit},
        location=change.at("config", _SETTING),
    )
