"""Timestamps are in milliseconds.

**fail**: the timestamp of a record, read as milliseconds, is before March 1973 or after the year 5138. Its size shows
that the unit is seconds, microseconds or nanoseconds, or, if it is 0, that its producer sets no time. Brokers accept
any number. Timestamps in seconds look old, and ``retention.ms`` deletes such records at once. Timestamps in
microseconds look like the far future, and keep all records after them (KAFKA-6482: five days under a policy of 48
hours). The check needs no declaration.

Example: ``7 records whose timestamp is not in milliseconds, first at offset 12 of partition 0``, because ``7 ×
microseconds: partition 0: offsets 12, 13, …``.

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1 --property print.timestamp=true``
prints the timestamp of the finding's offset.

Remedy: find the producer that sets timestamps itself, and convert the unit there. ``message.timestamp.before.max.ms``
and ``message.timestamp.after.max.ms`` make the broker refuse such records (KIP-937).

Prevent: declare ``message.timestamp.before.max.ms`` and ``message.timestamp.after.max.ms``.

Source: KAFKA-6482, KIP-937; ``LogValidator.validateTimestamp``.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import judge_faults
from topicwarden.audit.evidence import CommittedCounts, Live


class Required(CommittedCounts): ...


def applies(subject: Live) -> bool:
    return True


def judge(subject: Required) -> Iterable[CheckResult]:
    what = "whose timestamp is not in milliseconds"
    path = ("contents", "timestamps")
    return judge_faults(subject, "timestamp-unit", what, path, "find the producer that sets timestamps itself")
