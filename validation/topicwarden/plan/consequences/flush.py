"""Records are flushed to disk less often: records in memory are lost if all replicas lose power at once.

Source: ``flush.messages`` and ``flush.ms``. Without them Kafka relies on replication, and the operating system flushes.
"""

from collections.abc import Iterable

from topicwarden.model.planned_change import Consequence
from topicwarden.model.topic import Allowance
from topicwarden.plan.plan_evidence import PlanEvidence, RequiredEvidence
from topicwarden.plan.required_allowance import remedy_of, severity_of
from topicwarden.plan.setting_effects import raised
from topicwarden.plan.topic_change import TopicChange
from topicwarden.plan.wording import goes

AVOIDABLE = True
SETTINGS = ("flush.messages", "flush.ms")


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence() if _less_often(change) else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.before and change.after
    for name in _less_often(change):
        yield Consequence(
            kind="flush",
            weight=severity_of(change, Allowance.RELAX_FLUSH),
            message=f"{goes([name], change.before, change.after)}: more acknowledged records are only in memory, and "
            "are lost if all replicas lose power at once",
            remedy=remedy_of(change, Allowance.RELAX_FLUSH, "leave it as it is"),
            place=change.at("config", name),
        )


def _less_often(change: TopicChange) -> list[str]:
    if change.before is None or change.after is None:
        return []
    before, after = change.before.config, change.after.config
    return [name for name in SETTINGS if raised(name, before.get(name), after.get(name))]
