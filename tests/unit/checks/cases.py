"""Define a case of a check: a topic built by hand, and the result that the check must return."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tests.support.repeated_audits import Log
from tests.support.subjects import HORIZON, NOW
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.check import CheckResult, Evidence
from topicwarden.audit.history.topic_state import RememberedRecord
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.kafka.read.snapshot import PartitionExtent, PartitionReplicas
from topicwarden.model.verdict import Verdict

FAIL, PASS, SUSPECT, UNDECIDABLE = Verdict.FAIL, Verdict.PASS, Verdict.SUSPECT, Verdict.UNDECIDABLE
COMPACT = {"cleanup.policy": "compact"}
BOTH = {"cleanup.policy": "compact,delete"}
DELETE = {"cleanup.policy": "delete"}


@dataclass(frozen=True)
class Case:
    """The result of ``check`` for the topic ``of``.

    ``expected`` has the verdicts that a report shows, in order. It is empty for a plain pass, and None if the check
    does not apply. The other fields describe the last result: ``evidence`` is a part of its evidence.
    ``partitions`` are its partitions, or None for any. ``says`` is a part of its message, its reasons or its remedy.
    """

    check: str
    name: str
    of: AuditedTopic
    expected: tuple[Verdict, ...] | None
    evidence: Evidence = field(default_factory=dict)
    partitions: tuple[int, ...] | None = None
    says: str = ""

    @property
    def passing(self) -> bool:
        """Return whether the check applies and passes."""
        return self.expected is not None and set(self.expected) <= {PASS}


def reported(judgements: Iterable[CheckResult]) -> list[CheckResult]:
    """Return the results that a report shows: all results except those that are only remembered."""
    return [one for one in judgements if one.message or one.verdict is not PASS]


def extent(
    start: int = 0,
    end: int = 100,
    last_stable: int | None = None,
    latest: int | None = NOW,
    log_bytes: int | None = 1_000,
) -> PartitionExtent:
    """Return a log of offsets ``[start, end)``; ``latest`` is its largest timestamp, which the last record has."""
    return PartitionExtent(start, end, end if last_stable is None else last_stable, latest, end - 1, log_bytes)


def with_logs(of: AuditedTopic, *logs: PartitionExtent) -> AuditedTopic:
    """Return the same topic with these logs, from partition 0 on."""
    assert of.live
    live = replace(of.live, extents=dict(enumerate(logs)))
    return replace(of, live=live, snapshot=replace(of.snapshot, topics={live.topic.name: live}))


def with_counts(of: AuditedTopic, *counts: PartitionCounts) -> AuditedTopic:
    """Return the same topic with these counts, from partition 0 on."""
    assert of.live
    live = replace(of.live, topic=replace(of.live.topic, partitions=len(counts)))
    by_partition = dict(enumerate(counts))
    return replace(of, live=live, counts=by_partition, committed=by_partition)


def without(of: AuditedTopic, setting: str) -> AuditedTopic:
    """Return the same topic on brokers that do not report ``setting``."""
    assert of.live
    config = {name: value for name, value in of.live.topic.config.items() if name != setting}
    return replace(of, live=replace(of.live, topic=replace(of.live.topic, config=config)))


def out_of_sync(of: AuditedTopic) -> AuditedTopic:
    """Return the same topic with all replicas on broker 3 out of sync."""
    assert of.live
    return replace(of, live=replace(of.live, replicas=tuple(replace(one, in_sync=(1, 2)) for one in of.live.replicas)))


def absent(of: AuditedTopic, *hidden: str) -> AuditedTopic:
    """Return the same topic, missing on the cluster; this user may not describe the topics ``hidden``."""
    return replace(of, live=None, snapshot=replace(of.snapshot, topics={}, hidden=frozenset(hidden)))


def seen_again(log: Log, after: int = 60_000, **changed: object) -> AuditedTopic:
    """Return ``log`` at an audit ``after`` ms after the previous audit, with ``changed`` fields in between."""
    log.look()
    for name, value in changed.items():
        assert hasattr(log, name)
        setattr(log, name, value)
    log.now += after
    return log.subject()


def with_broker(log: Log, **settings: str) -> Log:
    return replace(log, brokers={name.replace("_", "."): value for name, value in settings.items()})


def beside_others(of: AuditedTopic) -> AuditedTopic:
    """Return the same topic with two partitions that are judged before partition 0, and have no finding.

    Both have a pair that a leader which is not known left. In one of them, a transaction has just begun.
    """
    assert of.live
    others = {-2: extent(), -1: extent(last_stable=40)}
    replicas = tuple(PartitionReplicas(number, 1, (1, 2, 3), (1, 2, 3)) for number in others)
    live = replace(of.live, extents={**others, **of.live.extents}, replicas=(*replicas, *of.live.replicas))
    remembered = {RememberedRecord(number, 0, 9, 1) for number in others}
    return replace(
        of,
        live=live,
        snapshot=replace(of.snapshot, topics={live.topic.name: live}),
        horizons={**dict.fromkeys(others, HORIZON), **of.horizons},
        counts={**dict.fromkeys(others, PartitionCounts()), **(of.counts or {})},
        past=replace(of.past, still_present=of.past.still_present | remembered),
    )
