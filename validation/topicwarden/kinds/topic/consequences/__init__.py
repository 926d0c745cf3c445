"""The table of all consequence rules by name, and their protocol. A new rule needs a new file and a new line here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.consequences import (
    broker_defaults,
    broker_refuses,
    collision,
    compaction,
    dead_letters,
    decompressed_message,
    destroyed,
    drift,
    duplicate,
    earlier_roll,
    eligible_leaders,
    fixed_policy,
    flush,
    foreign,
    max_message,
    min_insync,
    more_partitions,
    outside_scope,
    recompression,
    remote_copy,
    replication,
    retention_cut,
    tiered_storage_off,
    timestamps,
    tombstones,
    unclean_election,
    unseen,
)
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.model.planned_change import Consequence


class ConsequenceRule(Protocol):
    """A module with these two functions; its docstring describes the effect, its inputs, and how exact it is.

    ``AVOIDABLE`` is true if its consequences do not occur when the deploy leaves the live settings and partitions as
    they are. The kind of these consequences is the module's name in the table.
    """

    AVOIDABLE: bool

    def needs(self, change: TopicChange, now: int) -> RequiredEvidence | None:
        """Return the evidence that ``evaluate`` needs; None if the rule does not apply to ``change``.

        ``now`` is in milliseconds since the epoch.
        """

    def evaluate(self, change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
        """Return the consequences of ``change``. It is only called if ``needs`` did not return None."""


CONSEQUENCES: dict[str, ConsequenceRule] = {
    "destroyed": destroyed,
    "duplicate": duplicate,
    "outside-scope": outside_scope,
    "foreign": foreign,
    "collision": collision,
    "broker-refuses": broker_refuses,
    "retention-cut": retention_cut,
    "earlier-roll": earlier_roll,
    "fixed-policy": fixed_policy,
    "compaction": compaction,
    "tombstones": tombstones,
    "tiered-storage-off": tiered_storage_off,
    "remote-copy": remote_copy,
    "dead-letters": dead_letters,
    "more-partitions": more_partitions,
    "replication": replication,
    "min-insync": min_insync,
    "eligible-leaders": eligible_leaders,
    "unclean-election": unclean_election,
    "flush": flush,
    "max-message": max_message,
    "decompressed-message": decompressed_message,
    "recompression": recompression,
    "timestamps": timestamps,
    "broker-defaults": broker_defaults,
    "drift": drift,
    "unseen": unseen,
}
