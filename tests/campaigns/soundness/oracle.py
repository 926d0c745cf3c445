"""Decide whether a ``fail`` is true, from the broker's files and the actions on the topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tests.campaigns.soundness import contents
from tests.campaigns.soundness.broker import INTERVAL_MS
from tests.campaigns.soundness.logs import Log
from tests.campaigns.soundness.scene import Scene
from tests.campaigns.soundness.workload import Truth
from topicwarden.kafka_facts.configs import definition
from topicwarden.model.finding import Finding

Denial = str
"""The reason why a ``fail`` is false; empty if the broker's files and the recorded truth confirm the ``fail``."""


def denied(finding: Finding, scene: Scene) -> Denial:
    """Return the reason why a ``fail`` is false, or an empty string."""
    truth = scene.truths.get(finding.topic)
    if truth is None:
        return "nobody knows of this topic"
    return _ORACLES[finding.check](finding, scene, truth)


def _topic_missing(finding: Finding, scene: Scene, truth: Truth) -> Denial:
    return "the topic is there" if truth.there else ""


def _topic_undeclared(finding: Finding, scene: Scene, truth: Truth) -> Denial:
    return "" if truth.there and truth.history.declared is None else "it is declared"


def _topic_recreated(finding: Finding, scene: Scene, truth: Truth) -> Denial:
    return "" if truth.created > scene.created.get(truth.name, truth.created) else "it is the same topic"


def _log_truncated(finding: Finding, scene: Scene, truth: Truth) -> Denial:
    return "nothing was taken back"


def _config_drift(finding: Finding, scene: Scene, truth: Truth) -> Denial:
    name = str(finding.evidence["setting"])
    declared = truth.history.declared.config.get(name) if truth.history.declared else None
    known = definition(name)
    assert known, name
    if name not in truth.config:
        return "nobody set it" if declared is None else ""
    return "it is as declared" if declared is not None and known.equivalent(declared, truth.config[name]) else ""


def _partition_count(finding: Finding, scene: Scene, truth: Truth) -> Denial:
    declared = truth.history.declared
    return "as many as declared" if declared and declared.partitions == truth.partitions else ""


def _replication_factor(finding: Finding, scene: Scene, truth: Truth) -> Denial:
    return "as declared" if truth.history.declared and truth.history.declared.replication_factor == 1 else ""


def _never(finding: Finding, scene: Scene, truth: Truth) -> Denial:
    return "nothing that a broker was let do can have caused it"


def _each(judge: Callable[[Finding, Scene, Truth, int, Log], Denial]) -> Callable[[Finding, Scene, Truth], Denial]:
    """Return a judge for claims about partitions. A claim must be true in each partition, before or after the audit."""

    def all_partitions(finding: Finding, scene: Scene, truth: Truth) -> Denial:
        for partition in finding.partitions:
            logs = scene.logs(finding.topic, partition)
            reasons = [judge(finding, scene, truth, partition, log) for log in logs] or ["there is no such log"]
            if all(reasons):
                return f"partition {partition}: {reasons[-1]}"
        return ""

    return all_partitions


def _cleaner_is_well(scene: Scene, log: Log) -> bool:
    return scene.works.cleaner and not log.given_up


def _setting(truth: Truth, name: str, default: str) -> str:
    return truth.config.get(name, default)


def _uncleaned(finding: Finding, scene: Scene, truth: Truth, partition: int, log: Log) -> Denial:
    if _cleaner_is_well(scene, log):
        return "the cleaner was well all the time"
    stable = scene.partition(finding.topic, partition).last_stable or 0
    dirty = log.dirty(stable, int(_setting(truth, "min.compaction.lag.ms", "0")), scene.report.finished)
    if finding.check == "compaction-ratio":
        ratio, bound = log.dirty_ratio(dirty), float(_setting(truth, "min.cleanable.dirty.ratio", "0.5"))
        return "" if ratio > bound else f"the log's dirty ratio is {ratio:.3f}, its bound {bound}"
    longest = int(_setting(truth, "max.compaction.lag.ms", str(2**63 - 1)))
    if not any(0 <= one.born < scene.report.finished - longest for one in dirty):
        return "no dirty segment is old enough"
    keys = {entry.offset: entry.key for entry in log.entries}
    offset, by = (int(finding.evidence[name] or 0) for name in ("offset", "superseded_by"))
    if not {offset, by} <= keys.keys() or keys[offset] is None or keys[offset] != keys[by]:
        return f"no pair of one key is at {offset} and {by}"
    return "" if by < log.active else f"offset {by} is in the active segment, from {log.active} on"


def _undeleted(finding: Finding, scene: Scene, truth: Truth, partition: int, log: Log) -> Denial:
    compacted = "compact" in truth.config["cleanup.policy"]
    well = _cleaner_is_well(scene, log) if compacted else scene.works.deletion
    if well:
        return "what deletes was well all the time"
    if finding.check == "retention-size":
        bound = int(_setting(truth, "retention.bytes", "-1"))
        oldest = log.segments[0].size
        return "" if log.size - bound - oldest >= 0 and log.size > bound else "the oldest segment may stay"
    retention = int(_setting(truth, "retention.ms", str(7 * 86_400_000)))
    limit = scene.report.finished - retention - INTERVAL_MS
    return "" if 0 <= log.segments[0].time < limit else "the oldest segment has not expired"


def _blocked(finding: Finding, scene: Scene, truth: Truth, partition: int, log: Log) -> Denial:
    at, stamp = (int(finding.evidence[f"blocking_{name}"] or 0) for name in ("offset", "timestamp"))
    retention = int(_setting(truth, "retention.ms", str(7 * 86_400_000)))
    found = [entry for entry in log.entries if entry.offset == at]
    if not found or found[0].time != stamp or stamp < scene.report.started:
        return f"no record at {at} is stamped {stamp}, in the future"
    segment = next(each for each in reversed(log.segments) if each.base <= at)
    if int(finding.evidence["expires_not_before"] or 0) > segment.time + retention:
        return f"the segment expires at {segment.time + retention}"
    earlier = [entry.time for entry in log.entries if entry.offset < at and entry.time >= 0]
    if any(scene.report.finished - retention < time for time in earlier):
        return "an earlier record has not expired"
    behind = [entry.time for entry in log.entries if entry.offset > at and entry.time >= 0]
    protected = retention + INTERVAL_MS + contents.CLOCK_MS
    limits = (scene.report.started - protected, scene.report.finished - protected)
    least, most = (sum(time < limit for time in behind) for limit in limits)
    claimed = int(finding.evidence["expired_behind"] or 0)
    return "" if least <= claimed <= most else f"{claimed} are reported as expired after it, and {least}-{most} have"


def _hung(finding: Finding, scene: Scene, truth: Truth, partition: int, log: Log) -> Denial:
    if scene.works.coordinator:
        return "the coordinator was well all the time"
    begins, persisted = int(finding.evidence["last_stable"] or 0), int(finding.evidence["persisted_ms"] or 0)
    if begins not in log.unfinished:
        return f"no transaction without an end begins at {begins}"
    return "" if scene.hung.get(truth.name, 0) >= persisted else "the transaction is younger than that"


_ORACLES: Final[dict[str, Callable[[Finding, Scene, Truth], Denial]]] = {
    "topic-missing": _topic_missing,
    "topic-undeclared": _topic_undeclared,
    "topic-recreated": _topic_recreated,
    "log-truncated": _log_truncated,
    "config-drift": _config_drift,
    "partition-count": _partition_count,
    "replication-factor": _replication_factor,
    "under-replicated": _never,
    "min-insync-replicas": _never,
    "compaction-ratio": _each(_uncleaned),
    "compaction-lag": _each(_uncleaned),
    "compaction-gap": _never,
    "tombstone-retention": _never,
    "resurrection": _never,
    "hung-transaction": _each(_hung),
    "retention-time": _each(_undeleted),
    "retention-size": _each(_undeleted),
    "retention-blocked": _each(_blocked),
    **dict.fromkeys(
        ("internal-policy", "internal-replication", "internal-size", "group-lag", "lag-in-time", "broker-defaults"),
        _never,
    ),
    # The histories declare no access and no policy of use; tests/unit/checks/test_use_histories.py has such histories.
    **dict.fromkeys(
        ("undeclared-consumer", "undeclared-producer", "unused-access", "idle-topic"),
        _never,
    ),
    # They declare no subjects; tests/broker/contents/test_subjects.py has such histories.
    **dict.fromkeys(("registered-schema", "schema-version", "unused-schema-version"), _never),
    **contents.ORACLES,
}


def unknown_checks(checks: Iterator[str]) -> list[str]:
    """Return the checks that have no oracle. A ``fail`` of these checks could not be denied."""
    return [check for check in checks if check not in _ORACLES]
