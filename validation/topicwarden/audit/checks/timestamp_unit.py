"""Timestamps are milliseconds.

**fail**: a record's timestamp, read as milliseconds, lies before March 1973 or after the year 5138: its size says that
it counts seconds, or microseconds, or nanoseconds. Brokers take any number. Seconds look old, and ``retention.ms``
deletes such records at once; microseconds look like the far future, and keep all behind them (KAFKA-6482: five days
under a policy of 48 hours). Needs no declaration.

Example: ``7 records whose timestamp counts no milliseconds, first at offset 12 of partition 0``, because ``7 ×
microseconds: partition 0: offsets 12, 13, …``.

Remedy: find the producer that sets timestamps itself, and multiply or divide there. ``message.timestamp.before.max.ms``
and ``message.timestamp.after.max.ms`` make the broker refuse them (KIP-937).

Source: KAFKA-6482, KIP-937; ``LogValidator.validateTimestamp``.
"""

from collections.abc import Iterable

from topicwarden.audit.checks.common.content_faults import judge_faults
from topicwarden.audit.subject import AuditedTopic, CheckResult, Traits

TRAITS = Traits(reads_records=True, judges_committed_records=True)


def applies(subject: AuditedTopic) -> bool:
    return subject.live is not None


def judge(subject: AuditedTopic) -> Iterable[CheckResult]:
    what = "whose timestamp counts no milliseconds"
    path = ("contents", "timestamps")
    return judge_faults(subject, "timestamp-unit", what, path, "find the producer that sets timestamps itself")
