"""Define cases for the checks that compare records."""

from __future__ import annotations

from dataclasses import replace

from tests.support.subjects import subject
from tests.unit.checks.cases import FAIL, PASS, UNDECIDABLE, Case, absent, with_counts
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.scan.counts import ContentFault, PartitionCounts
from topicwarden.audit.scan.record_comparison import BrokenRule, ComparedRecords
from topicwarden.model.contents import Contents, OrderedRule, ReferenceRule, UniqueRule
from topicwarden.model.verdict import Verdict

CONTENTS = {
    "ordered": Contents(ordered=(OrderedRule(field="version"),)),
    "unique": Contents(unique=(UniqueRule(fields=("id",)),)),
    "references": Contents(references=(ReferenceRule(field="customer", topic="shop.customers"),)),
}
PROVEN = BrokenRule(3, 17, 0, 12, confirmed=True)
GONE = BrokenRule(3, 17, 0, 12)
UNKNOWN_KEY = BrokenRule(3, 17, confirmed=True)
MISSING = ContentFault("0", "missing or null", 2, (4,))
UNKNOWN = ContentFault("0", "no registry answered", 2, (4,), undecided=True)


def compared(check: str, found: ComparedRecords) -> AuditedTopic:
    """Return a topic of two partitions whose rule of ``check`` has the result ``found``."""
    topic = with_counts(subject(contents=CONTENTS[check]), PartitionCounts(records=20), PartitionCounts(records=20))
    return replace(topic, compared={f"{check}:0": found})


def _cases(check: str) -> list[Case]:
    def case(name: str, found: ComparedRecords, *expected: Verdict, partitions: tuple[int, ...] | None = None) -> Case:
        return Case(check, name, compared(check, found), expected, partitions=partitions)

    return [
        case("the first two records were read again", ComparedRecords(20, {1: PROVEN}), FAIL, partitions=(1,)),
        case("the first two records are gone", ComparedRecords(20, {1: GONE}), UNDECIDABLE, partitions=(1,)),
        case("no record breaks the rule", ComparedRecords(20)),
        case("some records have no value", ComparedRecords(18, unjudged=(MISSING,)), PASS),
        case("some records cannot be decoded", ComparedRecords(18, unjudged=(UNKNOWN,)), UNDECIDABLE),
        case("a partition was not read", ComparedRecords(9, unread={1: "why"}), UNDECIDABLE, partitions=(1,)),
        Case(check, "not declared", with_counts(subject(), PartitionCounts(records=9)), None),
        Case(check, "not on the cluster", absent(compared(check, ComparedRecords())), None),
    ]


def _reference_cases() -> list[Case]:
    def case(name: str, found: ComparedRecords, *expected: Verdict, partitions: tuple[int, ...] | None = None) -> Case:
        return Case("references", name, compared("references", found), expected, partitions=partitions)

    gaps = "compaction has left gaps"
    return [
        case("no record has the key", ComparedRecords(20, {1: UNKNOWN_KEY}), FAIL, partitions=(1,)),
        case("keys may be gone", ComparedRecords(20, {1: UNKNOWN_KEY}, incomplete=gaps), UNDECIDABLE, partitions=(1,)),
        case("keys may be gone, and all are there", ComparedRecords(20, incomplete=gaps)),
        case("some records are too young", ComparedRecords(20, young=3), PASS),
        case("some keys were deleted", ComparedRecords(20, deleted=3), PASS),
    ]


CASES = [*_cases("ordered"), *_cases("unique"), *_cases("references"), *_reference_cases()]
