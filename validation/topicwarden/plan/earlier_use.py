"""Read who used topics earlier, from the history of audits and usage reports, for a plan.

A plan only reads a history on this machine, and only if a change needs it. No problem with the history stops a plan.
"""

from __future__ import annotations

from dataclasses import dataclass

from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.kafka.read.use_reads import ClusterUse
from topicwarden.model.project import Project
from topicwarden.plan.consequence_text import UNSEEN_GROUPS
from topicwarden.plan.recent_use import DEFAULT_WINDOW_MS, PlannedUse, RecentUse, recent_use
from topicwarden.specs.stacks.history_address import history_address
from topicwarden.usage.history_files import is_local
from topicwarden.usage.observe import observe_use
from topicwarden.usage.remember import remember_or_join
from topicwarden.usage.use_records import UseRecords


@dataclass(frozen=True)
class EarlierUse:
    """The history in which a plan finds earlier observations. ``setting`` is ``topicwarden:history`` of the stack."""

    project: Project
    stack: str
    setting: str | None = None

    def window(self) -> int:
        """Return for how long, in milliseconds, a plan names the users of a topic."""
        from topicwarden.policies.policy_file import load_policy  # noqa: PLC0415 - only for topics that lose records

        usage = load_policy(self.project).usage_for(self.stack)
        return DEFAULT_WINDOW_MS if usage is None or usage.idle_after is None else usage.idle_after

    def read(self, cluster_id: str | None) -> tuple[UseRecords | None, tuple[str, ...]]:
        """Return the use in all observations of the cluster, and remarks; None if the history was not read."""
        address = history_address(self.project, self.stack, self.setting)
        if address is None:
            return None, ()
        if not is_local(address):
            return None, (
                f"the history of use at {address} was not read, because a plan only reads a history on this machine: "
                "earlier users of topics that lose records are not known; `topicwarden usage` shows them",
            )
        from topicwarden.usage.use_history import UseHistory  # noqa: PLC0415 - only if there is a history

        history = UseHistory(address)
        return history.load(cluster_id), tuple(history.notes)


def planned_use(earlier: EarlierUse | None, snapshot: Snapshot, use: ClusterUse) -> PlannedUse:
    """Return who used the topics of ``snapshot`` recently: ``use`` is what brokers report now.

    Without ``earlier``, this is the first observation.
    """
    known, remarks = (None, ()) if earlier is None else earlier.read(snapshot.cluster_id)
    window = DEFAULT_WINDOW_MS if earlier is None else earlier.window()
    observation = observe_use(snapshot, use)
    before = known or UseRecords(observation.cluster_id)
    records = remember_or_join(before, observation)
    topics: dict[str, RecentUse] = {}
    for name, live in snapshot.topics.items():
        key = name, live.id
        previous = before.topics[key].use() if key in before.topics else None
        topics[name] = recent_use(
            records.topics[key].use(), previous, window, history_read=known is not None, unseen=_unseen(use, name)
        )
    return PlannedUse(topics, remarks)


def _unseen(use: ClusterUse, topic: str) -> tuple[str, ...]:
    """Return what brokers did not report about the users of ``topic``."""
    groups = (UNSEEN_GROUPS,) if use.groups_missing else ()
    producers = use.producers.get(topic)
    if producers is None:
        return groups
    named = {transaction.producer_id for transaction in use.transactions.found}
    unnamed = use.transactions_missing and not producers.last_written.keys() <= named
    return (
        *groups,
        *([producers.missing] if producers.missing else []),
        *([f"producers may have hidden {use.transactions_missing}"] if unnamed else []),
    )
