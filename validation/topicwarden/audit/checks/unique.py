"""No two retained records have the same declared identity.

**fail**: two committed records, in any partitions, have equal values of all parts of an identity in ``contents:
{unique: …}``: fields of the value, a header, or the key. With ``within``, their timestamps differ by no more than
this. Both records were read again and their identities compared, so no collision of hashes is a fault. Records of
aborted transactions do not count. The numbers 1 and 1.0 are equal; a number and its text are not. **undecidable**,
for the affected records: their schema is not known, or a partition cannot be read.

A record without a part of the identity, or with null, is counted and not compared. A field of Protocol Buffers without
presence that has its default value is missing. A duplicate with the same bytes and timestamp is named as a likely
re-send. With ``--since last``, all records of the topic are read for this check: retention and the cleaner remove
records, and only a read shows which are left to be compared.

Example: ``3 records with the same order_id as an earlier record, first at offset 17 of partition 2, compared with
offset 12 of partition 0``.

Confirm: ``kafka-console-consumer --topic T --partition P --offset O --max-messages 1`` prints the record at each of the
two offsets.

Remedy: find the producer. Consumers that count or pay must ignore duplicates meanwhile.

Prevent: ``enable.idempotence=true``, and transactions for producers that restart.

Source: KIP-98 (idempotent and transactional producers).
"""

from collections.abc import Iterable

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.compared_records import judge_rule
from topicwarden.audit.evidence import Compared, Live

_REMEDY = "find the producer that writes duplicates"


class Required(Compared): ...


def applies(subject: Live) -> bool:
    return bool(subject.contents.unique)


def judge(subject: Required) -> Iterable[CheckResult]:
    for number, rule in enumerate(subject.contents.unique or ()):
        what = f"with the same {rule.label} as an earlier record"
        yield from judge_rule(subject, f"unique:{number}", what, _REMEDY)
