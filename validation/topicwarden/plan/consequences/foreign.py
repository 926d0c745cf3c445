"""A declared topic already exists on the cluster, but this stack did not deploy it.

If the topic is exactly as declared, a deploy adopts it without a change. If it differs, creating it would fail halfway
through the deploy, so the change is refused before.
"""

from collections.abc import Iterable

from topicwarden.model.planned_change import Action, Consequence, Severity
from topicwarden.plan.plan_evidence import PlanEvidence, RequiredEvidence
from topicwarden.plan.topic_change import TopicChange
from topicwarden.plan.wording import listed

AVOIDABLE = False


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence() if change.action is Action.ADOPT else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    differing = [setting for setting in change.settings if setting.declared != setting.live]
    if not differing:
        yield Consequence(
            kind="adopted",
            weight=Severity.NOTE,
            message="the topic is on the cluster as declared; it is adopted without a change",
            place=change.at(),
        )
        return
    shown = [f"{setting.name} is {setting.live}, declared {setting.declared}" for setting in differing]
    yield Consequence(
        kind="foreign",
        weight=Severity.REFUSED,
        message=f"the topic is on the cluster, but this stack did not deploy it, and it differs: {listed(shown)}",
        because=["Pulumi would try to create it, and fail in the middle of the deploy"],
        remedy="declare it as it is (`topicwarden import` writes this YAML), deploy, and change it after that",
        place=differing[0].place,
    )
