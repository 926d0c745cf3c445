"""A declared field never falls from one record of a key to the next.

**fail**: of two committed records of a key in one partition, the later one has a smaller value of a field in
``contents: {ordered: …}``, or with ``strict`` the same value. Both records were read again, and their keys and values
compared. Offsets never change, and compaction keeps the order of the records that remain, so the two were written in
this order. A tombstone ends the sequence of its key: the next record may begin again. Numbers are compared exactly in
JSON, Avro and Protocol Buffers, and text by code points; values of different types are not compared. **undecidable**,
for the affected records: their schema is not known, or a partition cannot be read.

A record without the field, or without a key, is counted and not compared. A key that is in several partitions is judged
within each of them, and the result says so. With ``--since last``, all records of the topic are read for this check:
the cleaner removes records, and only a read shows which are left to be compared.

Example: ``3 records have a lower version than the record before it of their key, first at offset 17 of partition 2,
compared with offset 12 of partition 2``.

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1 --property print.key=true`` prints
the record at each of the two offsets.

Remedy: find the producer that writes old versions: several producers of one key, retries without idempotence, or a
replay. Consumers that keep the newest version must compare the field.

Prevent: one producer for each key, with ``enable.idempotence=true``.

Source: Kafka keeps the order of the records of a partition (``UnifiedLog.append``); KIP-98 for idempotence.
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.compared_records import judge_rule
from topicwarden.audit.evidence import Compared, Live

_REMEDY = "find the producer that writes old versions"


class Required(Compared): ...


def applies(subject: Live) -> bool:
    return bool(subject.contents.ordered)


def judge(subject: Required) -> Iterable[CheckResult]:
    for number, rule in enumerate(subject.contents.ordered or ()):
        what = f"with no higher {rule.field}" if rule.strict else f"with a lower {rule.field}"
        yield from judge_rule(subject, f"ordered:{number}", f"{what} than the record of their key before it", _REMEDY)
