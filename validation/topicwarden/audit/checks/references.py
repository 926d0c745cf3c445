"""Each value of a declared field is a key of the topic that it refers to.

**fail**: a committed record has a value, in a field in ``contents: {references: …}``, that no committed record of the
referenced topic has as its key. The log of the referenced topic begins at offset 0, its batches follow each other
without a gap and with a record at each offset, and no transaction is open: nothing was deleted or compacted, so the key
was never committed. The timestamp of the record is older than ``grace`` (10 minutes by default), and the record was
read again. **undecidable**, with the number of records: earlier records of the referenced topic are gone, compaction
has left a gap in it, which may be a deleted key, a log with gaps has more than 256 MiB, only a part of it was read, it
is not part of the audit, or this user may not read it.

A record that is younger than ``grace``, or has no timestamp, is counted and not judged; producers set timestamps unless
``message.timestamp.type=LogAppendTime``. A record whose key was deleted, by a tombstone that is still retained, is a
note: the order of records in two topics is not known. A topic may refer to itself, and topics to each other. Fields and
keys may have different formats: an integer is equal to its decimal text, and text to a number or UUID if the keys are
declared so. A topic that was deleted and created again is a new one, without the earlier keys. With ``--since last``,
all records of both topics are read for this check: the cleaner removes keys, and only a read shows which are left.

Example: ``3 records with a customer_id that is no key of shop.customers, first at offset 17 of partition 2``.

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1`` prints the record.

Remedy: find the producer of the record, or write the missing record to the referenced topic.

Prevent: write the referenced record first, or both in one transaction.

Source: Kafka keeps the order of the records of a partition, and no order between partitions (``UnifiedLog.append``);
KIP-534 for tombstones that the cleaner removes; ``LogValidator.validateBatch`` and
``MemoryRecords.buildRetainedRecordsInto`` for batches before and after the cleaner.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.compared_records import judge_rule
from topicwarden.audit.evidence import Compared, Live

_REMEDY = "find the producer of the record, or write the missing record to the referenced topic"


class Required(Compared): ...


def applies(subject: Live) -> bool:
    return bool(subject.contents.references)


def judge(subject: Required) -> Iterable[CheckResult]:
    for number, rule in enumerate(subject.contents.references or ()):
        what = f"with a {rule.field} that is no key of {rule.topic}"
        yield from judge_rule(subject, f"references:{number}", what, _REMEDY)
