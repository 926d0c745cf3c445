"""No record is stamped much earlier than those before it.

**fail**: a record's timestamp is more than ``contents: {timestamps: {max_late: …}}`` older than the largest before it
in its partition. Stream processors drop what comes later than their grace; and retention deletes by the youngest record
of a segment, so late ones outlive it. A partition of more than a million records is read by several tasks, and piece by
piece with ``--since last``. A record that is late only for one of an earlier piece is then not counted, and the message
says "at least".

Example: ``5 records stamped more than 600,000 ms before an earlier one, first at offset 90 of partition 1``.

Remedy: find the producer that buffers, replays or back-dates; or declare what is meant.

Source: ``UnifiedLog.deleteRetentionMsBreachedSegments``, ``LogSegment.largestTimestamp``;
``TimeWindows.ofSizeAndGrace``.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.content_faults import judge_faults
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits

TRAITS = Traits(reads_records=True, judges_committed_records=True)


def applies(subject: AuditedTopic) -> bool:
    return subject.contents.timestamp_max_late_ms is not None and subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    what = f"stamped more than {subject.contents.timestamp_max_late_ms:,} ms before an earlier one"
    path = ("contents", "timestamps", "max_late")
    return judge_faults(subject, "timestamp-late", what, path, "find the producer that buffers, replays or back-dates")
