"""Pulumi's state has a topic that no YAML declares any more, and the topic is outside of the stack's scope.

The topic belongs to another team, so no word in YAML allows its deletion. The stack releases it by removing the
resource from Pulumi's state, which does not change the topic.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.plan.consequence_text import contents_text

AVOIDABLE = False


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return None if change.owned else RequiredEvidence()


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    lost = f"; {contents_text(change.live)} would be lost" if change.live else ""
    undeclared = "" if change.destroying else "no YAML declares it, "
    yield Consequence(
        kind="outside-scope",
        severity=Severity.REFUSED,
        message=f"Pulumi's state has the topic, {undeclared}and it is outside of the stack's "
        f"scope: Pulumi would delete it{lost}",
        remedy="`pulumi state delete --force URN` removes it from the state and does not change the topic "
        "(`pulumi stack --show-urns` lists the URNs); to keep it in this stack, add it to topicwarden:scope and "
        "restore its YAML",
        location=change.at(),
    )
