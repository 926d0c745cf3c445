"""No record is stamped further ahead of the clock than declared.

**fail**: a record that a consumer reading committed sees is stamped more than
``contents: {timestamps: {max_ahead: …}}`` after the moment of the snapshot, with an allowance of five seconds for
clocks. Such a record keeps its segment, and all behind it, from expiring (see ``retention-blocked``), and from being
compacted where ``min.compaction.lag.ms`` is set.

Example: ``1 record stamped further ahead than the declared 3,600,000 ms, first at offset 14 of partition 0``.

Remedy: find the producer whose clock, time zone or unit is wrong. Since Kafka 4.0 brokers refuse what is more than an
hour ahead (``message.timestamp.after.max.ms``, KIP-1030).

Source: ``LogValidator.validateTimestamp``, KIP-937, KIP-1030.
"""

from collections.abc import Iterable
from dataclasses import replace

from topicwarden.audit.checks.common.content_faults import judge_faults
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits

TRAITS = Traits(reads_records=True, judges_committed_records=True)


def applies(subject: AuditedTopic) -> bool:
    return subject.contents.timestamp_max_ahead_ms is not None and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    bound, now = subject.contents.timestamp_max_ahead_ms or 0, subject.snapshot.taken_at
    what = f"stamped further ahead than the declared {bound:,} ms"
    path, remedy = ("contents", "timestamps", "max_ahead"), "find the producer whose clock, time zone or unit is wrong"
    for judgement in judge_faults(subject, "timestamp-future", what, path, remedy):
        held = [subject.committed[partition] for partition in judgement.partitions]
        youngest = max(counts.last_timestamp or now for counts in held)
        ahead = None if any(counts.at_most for counts in held) else youngest - now
        yield replace(judgement, evidence={**judgement.evidence, "ahead_ms": ahead, "declared_ms": bound})
