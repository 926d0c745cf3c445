"""Settings change on a topic whose partitions somebody added by hand and then declared.

Until a refresh, Pulumi's state has fewer partitions than the cluster. The provider writes the settings, and then waits
until the topic has the state's number of partitions. So the deploy fails half a minute later, after it has changed
other topics.
"""

from collections.abc import Iterable

from topicwarden.model.planned_change import Action, Consequence, Severity
from topicwarden.plan.plan_evidence import PlanEvidence, RequiredEvidence
from topicwarden.plan.topic_change import TopicChange, added_by_hand

AVOIDABLE = False


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    if change.declaration is None or change.action is not Action.UPDATE:
        return None
    return RequiredEvidence() if added_by_hand(change.declaration.topic, change.deployed, change.live) else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.live and change.deployed
    live, known = change.live.topic.partitions, change.deployed.partitions
    yield Consequence(
        kind="stale-partitions",
        weight=Severity.REFUSED,
        message=f"the cluster has {live} partitions and Pulumi's state {known}, so the deploy would write the "
        "settings and then fail",
        because=["somebody added partitions by hand since the last deploy or refresh"],
        remedy="run `pulumi refresh`, which writes nothing to the cluster, and then deploy",
        evidence={"live": live, "deployed": known},
        place=change.at("partitions"),
    )
