"""A case of a check: a subject made by hand, and what the check must say of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.support.subjects import NOW
from tests.unit.audit.test_repeated_audits import Log
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.subject import AuditedTopic, CheckResult, Evidence
from topicwarden.kafka.snapshot import PartitionExtent
from topicwarden.model.verdict import Verdict

FAIL, PASS, SUSPECT, UNDECIDABLE = Verdict.FAIL, Verdict.PASS, Verdict.SUSPECT, Verdict.UNDECIDABLE
COMPACT = {"cleanup.policy": "compact"}
BOTH = {"cleanup.policy": "compact,delete"}


@dataclass(frozen=True)
class Case:
    """What ``check`` says of ``of``.

    ``expected`` are the verdicts that a report shows, in their order: empty for a plain pass, None if the check does
    not apply. ``evidence`` is a part of the last judgement's evidence. ``partitions`` are that judgement's, None for
    any. ``says`` is a part of its message, its reasons or its remedy.
    """

    check: str
    name: str
    of: AuditedTopic
    expected: tuple[Verdict, ...] | None
    evidence: Evidence = field(default_factory=dict)
    partitions: tuple[int, ...] | None = None
    says: str = ""

    @property
    def lawful(self) -> bool:
        """Whether the check applies, and passes."""
        return self.expected is not None and set(self.expected) <= {PASS}


def reported(judgements: list[CheckResult]) -> list[CheckResult]:
    """Return the judgements that a report shows: all but those that are only remembered."""
    return [one for one in judgements if one.message or one.verdict is not PASS]


def extent(
    start: int = 0,
    end: int = 100,
    last_stable: int | None = None,
    latest: int | None = NOW,
    log_bytes: int | None = 1_000,
) -> PartitionExtent:
    """Return a log of offsets ``[start, end)``; ``latest`` is its largest timestamp, borne by the last record."""
    return PartitionExtent(start, end, end if last_stable is None else last_stable, latest, end - 1, log_bytes)


def with_logs(of: AuditedTopic, *logs: PartitionExtent) -> AuditedTopic:
    """Return the same topic with these logs, of partition 0 and those after it."""
    assert of.live
    live = replace(of.live, extents=dict(enumerate(logs)))
    return replace(of, live=live, snapshot=replace(of.snapshot, topics={live.topic.name: live}))


def with_counts(of: AuditedTopic, *counts: PartitionCounts) -> AuditedTopic:
    """Return the same topic with these counts, of partition 0 and those after it."""
    assert of.live
    live = replace(of.live, topic=replace(of.live.topic, partitions=len(counts)))
    by_partition = dict(enumerate(counts))
    return replace(of, live=live, counts=by_partition, committed=by_partition)


def without(of: AuditedTopic, setting: str) -> AuditedTopic:
    """Return the same topic on brokers that did not tell ``setting``."""
    assert of.live
    config = {name: value for name, value in of.live.topic.config.items() if name != setting}
    return replace(of, live=replace(of.live, topic=replace(of.live.topic, config=config)))


def out_of_sync(of: AuditedTopic) -> AuditedTopic:
    """Return the same topic, of which the replicas on broker 3 are behind."""
    assert of.live
    return replace(of, live=replace(of.live, replicas=tuple(replace(one, in_sync=(1, 2)) for one in of.live.replicas)))


def absent(of: AuditedTopic, *hidden: str) -> AuditedTopic:
    """Return the same topic, missing on the cluster; this user may not describe topics ``hidden``."""
    return replace(of, live=None, snapshot=replace(of.snapshot, topics={}, hidden=frozenset(hidden)))


def seen_again(log: Log, after: int = 60_000, **changed: object) -> AuditedTopic:
    """Return ``log`` as an audit sees it that follows another one by ``after`` ms, with ``changed`` fields since."""
    log.look()
    for name, value in changed.items():
        assert hasattr(log, name)
        setattr(log, name, value)
    log.now += after
    return log.subject()
