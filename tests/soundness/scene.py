"""One audit, with what was true around it: the logs just before and just after, and what the broker was let do."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.soundness.logs import Log, Logs
from tests.soundness.workload import Truth
from topicwarden.model.finding import AuditReport, PartitionFacts, TopicFacts


@dataclass(frozen=True)
class Works:
    """Whether the broker did each of its duties for all of the time since the last look, and does now."""

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
    """How often each topic had been created at the last look; nothing for a topic that was not there."""
    works: Works
    first: bool
    """Whether nothing is remembered."""
    hung: dict[str, float] = field(default_factory=dict)
    """Topics in which a transaction is open, and for how long (ms)."""

    def logs(self, topic: str, partition: int) -> list[Log]:
        """The log as it was before and after, where it was there."""
        found = (logs.get((topic, partition)) for logs in (self.before, self.after))
        return [log for log in found if log is not None]

    def steady(self, topic: str, partition: int) -> Log | None:
        """The log, where nothing moved it while it was looked at."""
        before, after = (logs.get((topic, partition)) for logs in (self.before, self.after))
        return after if before == after else None

    def facts(self, topic: str) -> TopicFacts:
        return next(one for one in self.report.topics if one.name == topic)

    def partition(self, topic: str, partition: int) -> PartitionFacts:
        return next(one for one in self.facts(topic).partitions if one.partition == partition)
