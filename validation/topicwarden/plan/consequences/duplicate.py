"""Pulumi's state has two resources of one topic: the engine deletes the topic of the resource that is not registered.

`pulumi import` creates such a resource, and so does a rename of the project's components.
"""

from collections.abc import Iterable

from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.plan.plan_evidence import PlanEvidence, RequiredEvidence
from topicwarden.plan.topic_change import TopicChange
from topicwarden.plan.wording import loss

AVOIDABLE = False


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence() if change.duplicates else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    lost = f"; {loss(change.live)} would be lost" if change.live else ""
    for duplicate in change.duplicates:
        yield Consequence(
            kind="duplicate",
            weight=Severity.REFUSED,
            message=(
                f"Pulumi's state has a resource of the topic that is pending deletion, {duplicate.urn}: `pulumi up` "
                "would delete the topic itself"
                if duplicate.pending_deletion
                else f"Pulumi's state has the topic under another URN, {duplicate.urn}, which no program registers: "
                "`pulumi up` would delete the topic itself"
            )
            + lost,
            remedy='run `pulumi stack export --file state.json`, remove the entry with `"delete": true` from the file, '
            "then run `pulumi stack import --file state.json`: this does not change the topic"
            if duplicate.pending_deletion
            else f"`pulumi state delete --force '{duplicate.urn}'` removes that resource from the state and does not "
            "change the topic",
            evidence={"urn": duplicate.urn, "pending deletion": int(duplicate.pending_deletion)},
            place=change.at(),
        )
