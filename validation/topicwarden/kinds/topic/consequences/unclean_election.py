"""An out-of-sync replica may become leader: acknowledged records that it lacks are lost.

With ``unclean.leader.election.enable`` (KIP-106) the controller elects any living replica if no in-sync replica is
left. The other replicas then truncate their logs to the log of the new leader.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.kinds.topic.loss_severity import remedy_of, severity_of
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.consequence_text import records_of

AVOIDABLE = True
SETTING = "unclean.leader.election.enable"


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence() if change.raised(SETTING) else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    live = change.live
    assert live
    behind = [state for state in live.replicas if len(state.in_sync) < len(state.replicas)]
    single = max(len(state.replicas) for state in live.replicas) == 1
    yield Consequence(
        kind="unclean-election",
        severity=Severity.NOTE if single else severity_of(change, AllowedChange.UNCLEAN_ELECTION),
        message=f"{SETTING} becomes true: when no in-sync replica is left, a replica that lacks records becomes "
        f"leader, and acknowledged records are lost, at most all {records_of(live):,}"
        if not single
        else f"{SETTING} becomes true; without a second replica it changes nothing",
        because=[f"replicas are out of sync now in {counted(len(behind), 'partition')}"] if behind else [],
        remedy="" if single else remedy_of(change, AllowedChange.UNCLEAN_ELECTION, "leave it false"),
        evidence={"partitions out of sync": len(behind), "records": records_of(live)},
        location=change.at("config", SETTING),
    )
