"""Define cases for the checks of keys, values, headers and timestamps."""

from __future__ import annotations

from tests.support.subjects import NOW, counted, subject
from tests.unit.checks.cases import COMPACT, FAIL, PASS, UNDECIDABLE, Case, absent, with_counts
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.scan.counts import ContentFault, PartitionCounts, PersonalField, TimestampTypeCount
from topicwarden.model.contents import (
    Contents,
    HeaderContents,
    KeyContents,
    RecordContents,
    RecordRequirement,
    TimestampContents,
    ValueContents,
)


def stamped(create: int | None, append: int | None, in_force: str | None = "CreateTime") -> AuditedTopic:
    """Return a topic declared ``LogAppendTime``, and the last offsets with each timestamp type."""
    offsets = {"CreateTime": create, "LogAppendTime": append}
    counts = PartitionCounts(
        records=9,
        timestamp_types={name: TimestampTypeCount(4, last) for name, last in offsets.items() if last is not None},
    )
    live = {} if in_force is None else {"message.timestamp.type": in_force}
    return subject(counts, live=live, contents=Contents(timestamps=TimestampContents(type="LogAppendTime")))


def personal(*found: PersonalField) -> AuditedTopic:
    json = Contents(value=ValueContents(format="json"))
    return subject(PartitionCounts(records=9, personal=found, sampled=9), contents=json)


def faulty(rule: str, contents: Contents, *, undecided: bool = False, at_most: bool = False) -> AuditedTopic:
    fault = ContentFault(rule, "wrong", 3, (4, 7, 9), undecided=undecided, at_most=at_most)
    largest = PartitionCounts(
        records=9, largest_record=11, last_timestamp=NOW + 2_000, faults=(fault,), at_most=at_most
    )
    return with_counts(
        subject(contents=contents),
        largest,
        PartitionCounts(largest_record=1, last_timestamp=NOW - 1),
        PartitionCounts(),
    )


PAID = Contents(
    expressions=(
        RecordRequirement(id="paid", require="value.paid"),
        RecordRequirement(id="named", require="value.named", message="No name."),
    )
)

FAULTS = {
    "key-schema": Contents(key=KeyContents(format="uuid")),
    "value-schema": Contents(value=ValueContents(format="json")),
    "header": Contents(headers=HeaderContents(required=("trace-id",))),
    "expression": PAID,
    "record-size": Contents(records=RecordContents(max_bytes=10)),
    "timestamp-future": Contents(timestamps=TimestampContents(max_ahead=1_000)),
    "timestamp-late": Contents(timestamps=TimestampContents(max_late=1_000)),
    "timestamp-unit": Contents(),
}

RULES = {**{check: check for check in FAULTS}, "expression": "expression:paid"}
"""The rule that the reader reports for each check."""

LARGEST = {"record-size": "largest_record", "timestamp-future": "ahead_ms"}
"""The evidence that may come from a record of an aborted transaction."""

EVIDENCE = {
    "record-size": {"largest_record": 11, "declared": 10},
    "timestamp-future": {"ahead_ms": 2_000, "declared_ms": 1_000},
}


def of_fault(check: str, contents: Contents) -> tuple[Case, ...]:
    """Return the cases of a check that only reports faults which the reader noted; the reader applies the limits."""
    rule = RULES[check]
    seen = {"records": 3, "partition": 0, "offset": 4, **EVIDENCE.get(check, {})}
    undeclared = () if check == "timestamp-unit" else (Case(check, "not declared", faulty(rule, Contents()), None),)
    return (
        Case(check, "noted", faulty(rule, contents), (FAIL,), evidence=seen, partitions=(0,)),
        Case(check, "noted, and not decided", faulty(rule, contents, undecided=True), (UNDECIDABLE,)),
        Case(
            check,
            "noted, and maybe aborted",
            faulty(rule, contents, at_most=True),
            (FAIL,),
            evidence={"records": 3, "offset": 4, **({LARGEST[check]: None} if check in LARGEST else {})},
            says="at most 3 records",
        ),
        Case(check, "another check's", faulty(f"{rule}s", contents), ()),
        Case(check, "not on the cluster", absent(faulty(rule, contents)), None),
        *undeclared,
    )


CASES = (
    *(case for check, contents in FAULTS.items() for case in of_fault(check, contents)),
    Case(
        "value-schema",
        "not as the registry says",
        faulty("value-schema", Contents(value=ValueContents(format="json", registry=True))),
        (FAIL,),
        says="whose value is not json as declared by the registry, first at",
    ),
    Case(
        "value-schema",
        "not as a schema file says",
        faulty("value-schema", Contents(value=ValueContents(format="json", schema="order.json"))),
        (FAIL,),
        says="whose value is not json as declared, first at offset 4 of partition 0",
    ),
    Case("expression", "of another id", faulty("expression:named", PAID), (FAIL,), says="No name."),
    Case(
        "timestamp-type",
        "the last record is of another type",
        stamped(9, 8),
        (FAIL,),
        partitions=(0,),
        evidence={"offset": 9, "actual": "CreateTime", "in_force": "CreateTime"},
        says="message.timestamp.type=CreateTime is in effect",
    ),
    Case("timestamp-type", "the last record is of the declared type", stamped(8, 9), ()),
    Case("timestamp-type", "only older records are of another type", stamped(9, None, "LogAppendTime"), ()),
    Case(
        "timestamp-type",
        "a setting that this user may not see",
        stamped(9, None, None),
        (UNDECIDABLE,),
        partitions=(0,),
    ),
    Case("timestamp-type", "no records", stamped(None, None), ()),
    Case("timestamp-type", "not declared", subject(counted(stamped(9, 8)).counts[0]), None),
    Case("timestamp-type", "not on the cluster", absent(stamped(9, 8)), None),
    Case(
        "null-key",
        "one, which compaction destroys",
        subject(PartitionCounts(records=3, null_keys=1, first_null_key=7), live=COMPACT),
        (FAIL,),
        says="in a compacted topic, first at offset 7 of partition 0 written before the topic was compacted",
        partitions=(0,),
    ),
    Case(
        "null-key",
        "one, where a key is required",
        subject(
            PartitionCounts(records=3, null_keys=1, first_null_key=7), contents=Contents(key=KeyContents(required=True))
        ),
        (FAIL,),
        says="although keys are required",
    ),
    Case("null-key", "none in a compacted topic", subject(PartitionCounts(records=3), live=COMPACT), ()),
    Case(
        "null-key",
        "none, where a key is required",
        subject(PartitionCounts(records=3), contents=Contents(key=KeyContents(required=True))),
        (),
    ),
    Case(
        "null-key",
        "neither compacted nor required",
        subject(PartitionCounts(records=3, null_keys=1, first_null_key=7)),
        None,
    ),
    Case(
        "empty-value",
        "one in a compacted topic",
        subject(PartitionCounts(records=3, empty_values=1, first_empty_value=7), live=COMPACT),
        (FAIL,),
        partitions=(0,),
        says="an empty value is not a tombstone: compaction keeps it",
    ),
    Case("empty-value", "a tombstone", subject(PartitionCounts(records=3, tombstones=3), live=COMPACT), ()),
    Case(
        "empty-value", "not compacted", subject(PartitionCounts(records=3, empty_values=1, first_empty_value=7)), None
    ),
    Case(
        "personal-fields",
        "fields that look personal",
        personal(PersonalField("email", "e-mail address", 5), PersonalField("ip", "IP address", 1)),
        (PASS,),
        {"fields": 2, "sampled": 9},
        says="email (e-mail address, 5 of 9 records), ip",
    ),
    Case("personal-fields", "no such field", personal(), ()),
    Case("personal-fields", "the values are not declared as JSON", subject(), None),
)
