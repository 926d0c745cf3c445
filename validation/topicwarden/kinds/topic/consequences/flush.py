"""Records are flushed to disk less often: records in memory are lost if all replicas lose power at once.

Source: ``flush.messages`` and ``flush.ms``. Without them Kafka relies on replication, and the operating system flushes.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.kinds.topic.loss_severity import remedy_of, severity_of
from topicwarden.model.planned_change import Consequence
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.consequence_text import changes_text

AVOIDABLE = True
SETTINGS = ("flush.messages", "flush.ms")


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence() if change.raised(*SETTINGS) else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.before and change.after
    for name in change.raised(*SETTINGS):
        yield Consequence(
            kind="flush",
            severity=severity_of(change, AllowedChange.RELAX_FLUSH),
            message=f"{changes_text([name], change.before, change.after)}: more acknowledged records are only in "
            "memory, and are lost if all replicas lose power at once",
            remedy=remedy_of(change, AllowedChange.RELAX_FLUSH, "leave it as it is"),
            evidence={"setting": name},
            location=change.at("config", name),
        )
