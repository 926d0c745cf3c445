"""Pulumi's state has two resources of one topic: the engine deletes the topic of the resource that is not registered.

`pulumi import` creates such a resource, and so does a rename of the project's components. `pulumi state taint` lets the
engine replace the only resource: it then creates the topic, which exists, and deletes it.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.model.deployed_stack import DuplicateResource
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.plan.consequence_text import contents_text

AVOIDABLE = False


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence(use=True) if change.duplicates else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    lost = f"; {contents_text(change.live)} would be lost" if change.live else ""
    for duplicate in change.duplicates:
        state, remedy = _texts(duplicate)
        effect = "no change of it can be judged" if duplicate.edited else f"Pulumi would delete the topic itself{lost}"
        yield Consequence(
            kind="duplicate",
            severity=Severity.REFUSED,
            message=f"Pulumi's state has {state}: {effect}",
            remedy=remedy,
            evidence={"urn": duplicate.urn, "pending deletion": int(duplicate.pending_deletion)},
            location=change.at(),
        )


def _texts(duplicate: DuplicateResource) -> tuple[str, str]:
    """Return what the state has, and the remedy."""
    if duplicate.tainted:
        return (
            f"the resource of the topic marked for replacement, {duplicate.urn}",
            f"`pulumi state untaint '{duplicate.urn}'` removes the mark and does not change the topic",
        )
    if duplicate.edited:
        return (
            "the resource of the topic as no deploy writes it (its id, properties, secrets, or a mark that keeps the "
            f"topic), {duplicate.urn}",
            f"`pulumi state delete --force '{duplicate.urn}'` removes it from the state and does not change the topic; "
            "the next deploy adopts the topic",
        )
    if duplicate.pending_deletion:
        return (
            f"a resource of the topic that is pending deletion, {duplicate.urn}",
            'run `pulumi stack export --file state.json`, remove the entry with `"delete": true` from the file, then '
            "run `pulumi stack import --file state.json`: this does not change the topic",
        )
    return (
        f"the topic under another URN, {duplicate.urn}, which no program registers",
        f"`pulumi state delete --force '{duplicate.urn}'` removes that resource from the state and does not change the "
        "topic",
    )
