"""No timestamp is further ahead of the clock than declared.

**fail**: a record that a consumer reading committed sees has a timestamp more than
``contents: {timestamps: {max_ahead: …}}`` after the time of the snapshot, with a tolerance of five seconds for clocks.
Such a record keeps its segment, and all segments after it, from expiring (see ``retention-blocked``). With
``min.compaction.lag.ms``, the record also keeps the segment from being compacted.

Example: ``1 record with a timestamp further ahead than the declared 1h, first at offset 14 of partition 0``.

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1 --property print.timestamp=true``
prints the timestamp of the finding's offset.

Remedy: find the producer with the wrong clock, time zone or unit. Since Kafka 4.0, brokers refuse timestamps more than
an hour ahead (``message.timestamp.after.max.ms``, KIP-1030).

Prevent: synchronize clocks; declare ``message.timestamp.after.max.ms``, so that brokers refuse such records.

Source: ``LogValidator.validateTimestamp``, KIP-937, KIP-1030.
"""

from collections.abc import Iterable
from dataclasses import replace

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import judge_faults
from topicwarden.audit.evidence import CommittedCounts, Live
from topicwarden.model.timestamps import utc
from topicwarden.model.units import DURATION


class Required(CommittedCounts): ...


def applies(subject: Live) -> bool:
    return subject.contents.timestamps.max_ahead is not None


def judge(subject: Required) -> Iterable[CheckResult]:
    bound, now = subject.contents.timestamps.max_ahead or 0, subject.snapshot.taken_at
    what = f"with a timestamp further ahead of this audit, {utc(now)}, than the declared {DURATION.text(bound)}"
    path, remedy = ("contents", "timestamps", "max_ahead"), "find the producer with the wrong clock, time zone or unit"
    for result in judge_faults(subject, "timestamp-future", what, path, remedy):
        counts = [subject.committed[partition] for partition in result.partitions]
        latest = max(each.last_timestamp or now for each in counts)
        ahead = None if any(each.at_most for each in counts) else latest - now
        yield replace(result, evidence={**result.evidence, "ahead_ms": ahead, "declared_ms": bound})
