"""No timestamp is much earlier than the timestamps before it.

**fail**: the timestamp of a record is more than ``contents: {timestamps: {max_late: …}}`` before the largest earlier
timestamp in its partition. Stream processors drop records that are later than their grace period. Retention deletes a
segment by its youngest record, so late records are kept for longer. Several tasks read a partition of more than a
million records, and ``--since last`` reads a partition in pieces. A record that is late only compared with a record in
another piece is not counted, and the message says "at least".

Example: ``5 records with a timestamp more than 10m before an earlier one, first at offset 90 of partition 1``.

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1 --property print.timestamp=true``
at the finding's offset and the one before prints both timestamps.

Remedy: find the producer that buffers, replays or back-dates records; or declare the intended delay.

Prevent: declare ``message.timestamp.before.max.ms``, so that brokers refuse older records.

Source: ``UnifiedLog.deleteRetentionMsBreachedSegments``, ``LogSegment.largestTimestamp``;
``TimeWindows.ofSizeAndGrace``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import judge_faults
from topicwarden.audit.evidence import CommittedCounts, Live
from topicwarden.model.units import DURATION


class Required(CommittedCounts): ...


def applies(subject: Live) -> bool:
    return subject.contents.timestamps.max_late is not None


def judge(subject: Required) -> Iterable[CheckResult]:
    what = (
        f"with a timestamp more than {DURATION.text(subject.contents.timestamps.max_late or 0)} before an earlier one"
    )
    path = ("contents", "timestamps", "max_late")
    remedy = "find the producer that buffers, replays or back-dates records"
    return judge_faults(subject, "timestamp-late", what, path, remedy)
