"""Describe one audit and the truth around it: the logs just before and just after, and the broker's working duties."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.campaigns.soundness.logs import Log, Logs
from tests.campaigns.soundness.workload import Truth
from topicwarden.model.finding import AuditReport, PartitionFacts, TopicFacts


@dataclass(frozen=True)
class Works:
    """The duties that the broker has performed without interruption since the last audit, and still performs."""

    cleaner: bool = True
    deletion: bool = True
    coordinator: bool = True


@dataclass(frozen=True)
class Scene:
    report: AuditReport
    before: Logs
    after: Logs
    truths: dict[str, Truth]
    created: dict[str, int]
    """By topic: the number of its creations at the last audit. A topic that did not exist is missing."""
    works: Works
    first: bool
    """True if the audit has no history."""
    hung: dict[str, float] = field(default_factory=dict)
    """Topics with an open transaction, and how long it has been open (ms)."""

    def logs(self, topic: str, partition: int) -> list[Log]:
        """Return the log before and after the audit, if it existed."""
        found = (logs.get((topic, partition)) for logs in (self.before, self.after))
        return [log for log in found if log is not None]

    def steady(self, topic: str, partition: int) -> Log | None:
        """Return the log, or None if it changed during the audit."""
        before, after = (logs.get((topic, partition)) for logs in (self.before, self.after))
        return after if before == after else None

    def facts(self, topic: str) -> TopicFacts:
        return next(one for one in self.report.topics if one.name == topic)

    def partition(self, topic: str, partition: int) -> PartitionFacts:
        return next(one for one in self.facts(topic).partitions if one.partition == partition)
