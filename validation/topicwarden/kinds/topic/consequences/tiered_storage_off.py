"""Tiered storage is turned off: records that are only in remote storage are deleted.

Kafka refuses to turn it off unless ``remote.log.delete.on.disable`` is true, and then deletes all remote segments
(KIP-950, ``LogConfig.validateTurningOffRemoteStorageWithDelete``). So the plan refuses this, too.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.kinds.topic.loss_severity import remedy_of, severity_of, unseen_reasons
from topicwarden.model.planned_change import Action, Consequence, Severity
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.consequence_text import at_most

AVOIDABLE = True
SETTING = "remote.storage.enable"
DELETE = "remote.log.delete.on.disable"


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence(local=True, use=True) if change.lowered(SETTING) else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.live and change.after
    extents = change.live.extents
    remote = sum(max(0, evidence.local_starts.get(number, log.end) - log.start) for number, log in extents.items())
    yield Consequence(
        kind="tiered-storage-off",
        severity=severity_of(change, AllowedChange.SHRINK_RETENTION),
        message=f"{SETTING} becomes false, which deletes {at_most(remote, 'record')} stored only in remote storage",
        because=[
            *unseen_reasons(change.live),
            "at most: offsets from the log start to the first offset on the leader's own disk; compaction and "
            "transactions may have left fewer records",
        ],
        measured="offsets from the brokers",
        remedy=remedy_of(
            change,
            AllowedChange.SHRINK_RETENTION,
            "set remote.log.copy.disable: true instead, which keeps remote segments readable",
        ),
        evidence={"records": remote},
        location=change.at("config", SETTING),
    )
    if change.action is not Action.RECREATE and change.after.config.get(DELETE) == "false":
        yield Consequence(
            kind="tiered-storage-off",
            severity=Severity.REFUSED,
            message=f"{SETTING} becomes false, and {DELETE} is false: Kafka refuses the change",
            remedy=f"also write {DELETE}: true, or keep {SETTING}: true",
            evidence={"setting": DELETE},
            location=change.at("config", SETTING),
        )
