"""No log is larger than ``retention.bytes`` plus one segment.

Deletion by size removes the oldest segment as long as at least ``retention.bytes`` remain. After a deletion pass, a log
is smaller than ``retention.bytes`` plus its oldest segment.

**suspect**: the leader's log is larger than ``retention.bytes + segment.bytes``. **fail**: all of these hold:

- two audits saw this, further apart than the brokers' check interval plus the initial delay after a start (for
  ``compact,delete``: than a healthy cleaner takes, because the cleaner deletes);
- the log start did not move, every replica was in sync, and the settings and the leader (epoch) are the same;
- the oldest segment was written under a ``segment.bytes`` that an audit saw, or the log is larger than
  ``retention.bytes`` plus the largest possible segment, 2 GiB.

**pass**, with the reason: the oldest segment may be larger than the current ``segment.bytes``, a replica is out of
sync, or the leader moves the log to another disk. **undecidable**: the brokers do not report sizes, because Describe on
the cluster is denied or a log directory has failed. Topics with tiered storage are not checked: there,
``local.retention.bytes`` limits the logs on the brokers.

Example: ``retention.bytes`` was set to 1 GiB, and the partition has 40 GiB.

Confirm: ``kafka-log-dirs --describe --topic-list T`` prints the size of each partition.

Remedy: check the leader's log for ``LogManager`` and ``UnifiedLog``; brokers stop deleting if a log directory failed or
the cleaner is dead.

Prevent: raise an alarm for ``OfflineLogDirectoryCount`` above 0, and for disks that fill.

Source: ``UnifiedLog.deleteRetentionSizeBreachedSegments``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.persistence import (
    UNMOVED,
    UNMOVED_REMEDY,
    deletion_pause,
    deletion_verdict,
    log_start_facts,
    unknown_grace_remedy,
)
from topicwarden.audit.evidence import ApacheLog, LiveSettings
from topicwarden.model.message_text import share
from topicwarden.model.units import SIZE, size_text
from topicwarden.model.verdict import Verdict


class Required(LiveSettings, ApacheLog): ...


CHECK = "retention-size"
RELEVANT_SETTINGS = ("cleanup.policy", "retention.bytes", "segment.bytes")
_LARGEST_SEGMENT = 2**31 - 1
_REMEDIES = {
    Verdict.FAIL: UNMOVED_REMEDY,
    Verdict.SUSPECT: "audit again after the brokers' check interval",
    Verdict.PASS: "",
}


def applies(subject: Required) -> bool:
    topic = subject.live.topic
    return (
        "delete" in (topic.cleanup_policies or ())
        and (bound := topic.number("retention.bytes")) is not None
        and bound >= 0
        and topic.config.get("remote.storage.enable") != "true"
    )


def judge(subject: Required) -> Iterable[CheckResult]:
    logs = subject.live.extents
    unknown = sorted(partition for partition, log in logs.items() if log.log_bytes is None)
    if unknown:
        missing, remedy = subject.snapshot.log_dirs.missing_sizes()
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "the brokers did not return the sizes of the logs",
            path=("config", "retention.bytes"),
            partitions=tuple(unknown),
            because=(missing,),
            remedy=remedy,
        )
    bound, segment = _limits(subject)
    over = {
        partition: log.log_bytes
        for partition, log in sorted(logs.items())
        if log.log_bytes is not None and log.log_bytes > bound + segment
    }
    explanations = {partition: _explanation(subject, partition, size, bound) for partition, size in over.items()}
    verdicts = {
        partition: deletion_verdict(subject, CHECK, RELEVANT_SETTINGS, partition, explanations[partition])
        for partition in over
    }
    for verdict in sorted(set(verdicts.values())):
        partitions = {partition: over[partition] for partition, own in verdicts.items() if own is verdict}
        reasons = sorted({reason for partition in partitions if (reason := explanations[partition])})
        yield _result(subject, verdict, partitions, reasons)


def _result(subject: Required, verdict: Verdict, over: dict[int, int], reasons: list[str]) -> CheckResult:
    bound, segment = _limits(subject)
    return CheckResult(
        verdict,
        f"{share(len(over), subject.live.topic.partitions, 'partition', 'have')} up to "
        f"{size_text(max(over.values()))}, more than retention.bytes plus one segment: "
        f"{SIZE.text(bound)} + {SIZE.text(segment)}",
        path=("config", "retention.bytes"),
        partitions=tuple(over),
        because=(
            "deletion by size leaves less than retention.bytes plus the oldest segment",
            *([UNMOVED] if verdict is Verdict.FAIL else []),
            *reasons,
        ),
        remedy=_REMEDIES.get(verdict, unknown_grace_remedy(subject.snapshot)),
        evidence={"retention.bytes": bound, "segment.bytes": segment, "largest_log": max(over.values())},
        tracked_facts={partition: log_start_facts(subject, partition) for partition in over},
        relevant_settings=RELEVANT_SETTINGS,
    )


def _limits(subject: Required) -> tuple[int, int]:
    """Return ``retention.bytes`` and ``segment.bytes``."""
    return subject.number("retention.bytes") or 0, subject.number("segment.bytes") or _LARGEST_SEGMENT


def _explanation(subject: Required, partition: int, size: int, bound: int) -> str | None:
    """Return a legitimate cause for the size of the log; None if there is none, or in a first audit."""
    known_from = subject.shaped_from(partition)
    if known_from is None:
        return None
    if pause := deletion_pause(subject, partition):
        return pause
    if size <= bound + _LARGEST_SEGMENT and subject.live.extents[partition].start < known_from:
        return (
            "the oldest segment was written before audits saw the settings, and may be larger than segment.bytes: "
            f"Kafka allows {size_text(_LARGEST_SEGMENT)}"
        )
    return None
