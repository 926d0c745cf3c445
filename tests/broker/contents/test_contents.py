"""Check records against their contract on a real broker.

Each violation must be counted and reported, and no content of a record may be shown.
"""

from __future__ import annotations

import pytest

from tests.broker.contents.records import SECRET
from tests.support.reports import finding
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.verdict import Verdict


def lines(found: Finding) -> str:
    return "\n".join(found.because)


@pytest.mark.parametrize(
    ("topic", "check", "reported"),
    [
        ("json", "key-schema", {8: "not the text of a UUID"}),
        (
            "json",
            "value-schema",
            {
                2: "/amount: expected number, got string ({id: integer, amount: string})",
                4: "has a property that is not in the schema ({id: integer, amount: integer, *: integer})",
                5: "not JSON (13 bytes of UTF-8 text, wrong at byte 7)",
                6: "not JSON: empty",
                7: "/lines/*/sku: expected string, got integer",
            },
        ),
        ("json", "header", {9: "missing trace-id"}),
        ("json", "timestamp-late", {13: "older than declared"}),
        (
            "avro",
            "value-schema",
            {2: "ends too early", 3: "bytes are left over", 4: "a union branch", 7: "ends too early"},
        ),
        ("avro", "key-schema", {5: "not 8 bytes"}),
        ("avro", "expression", {6: "not true"}),
        ("protobuf", "value-schema", {2: "not a Payment of Protocol Buffers"}),
        ("plain", "key-schema", {2: "not UTF-8"}),
        ("plain", "value-schema", {1: "not 4 bytes"}),
        ("units", "timestamp-unit", {1: "seconds", 2: "microseconds", 3: "nanoseconds"}),
    ],
)
def test_contract_violations_have_a_reason_and_an_offset(
    report: AuditReport, topic: str, check: str, reported: dict[int, str]
) -> None:
    found = finding(report, f"contents.{topic}", check)
    assert found.verdict is Verdict.FAIL
    for offset, reason in reported.items():
        assert any(reason in line and f" {offset}" in line.rpartition("offset")[2] for line in found.because), reason


@pytest.mark.parametrize(
    ("topic", "check", "records"),
    [
        ("json", "value-schema", 7),
        ("json", "header", 2),
        ("json", "timestamp-late", 3),
        ("avro", "value-schema", 4),
        ("protobuf", "value-schema", 1),
        ("plain", "value-schema", 1),
    ],
)
def test_every_record_that_violates_the_contract_counts_once(
    report: AuditReport, topic: str, check: str, records: int
) -> None:
    assert finding(report, f"contents.{topic}", check).evidence["records"] == records


def test_a_tombstone_needs_its_headers_as_any_record_does(report: AuditReport) -> None:
    assert "offsets 9, 10" in lines(finding(report, "contents.json", "header"))


def test_expressions_are_judged_one_by_one(report: AuditReport) -> None:
    positive, traced = (one for one in report.of_topic("contents.json") if one.check == "expression")
    assert "do not satisfy positive, first at offset 11" in positive.message
    assert positive.remedy == "refunds belong in contents.refunds"
    assert "do not satisfy traced, first at offset 12" in traced.message


def test_an_expression_without_a_result_is_undecidable(report: AuditReport) -> None:
    false, unknown = (one for one in report.of_topic("contents.protobuf") if one.check == "expression")
    assert (false.verdict, unknown.verdict) == (Verdict.FAIL, Verdict.UNDECIDABLE)
    assert "offset 5" in unknown.because[0]


def test_records_beyond_the_limits_are_undecidable_and_hide_nothing(report: AuditReport) -> None:
    false, unknown = (one for one in report.of_topic("contents.poison") if one.check == "value-schema")
    assert (false.verdict, false.evidence["records"], false.evidence["offset"]) == (Verdict.FAIL, 2, 4)
    assert (unknown.verdict, unknown.evidence["offset"]) == (Verdict.UNDECIDABLE, 1)
    assert "more than 1000 nested arrays and objects" in lines(unknown)
    assert "a number of more than 1000 characters" in lines(unknown)
    key = finding(report, "contents.poison", "key-schema")
    assert (key.verdict, key.evidence["records"], key.evidence["offset"]) == (Verdict.UNDECIDABLE, 1, 3)


def test_groups_of_proto2_are_read(report: AuditReport) -> None:
    found = finding(report, "contents.group", "value-schema")
    assert (found.verdict, found.evidence["records"], found.evidence["offset"]) == (Verdict.FAIL, 2, 1)


def test_only_committed_records_break_a_contract(report: AuditReport) -> None:
    found = finding(report, "contents.aborted", "value-schema")
    assert (found.verdict, found.evidence["records"], found.evidence["offset"]) == (Verdict.FAIL, 1, 4)


def test_a_finding_has_the_line_that_declares_its_subject(report: AuditReport) -> None:
    location = finding(report, "contents.json", "value-schema").location
    assert location is not None
    assert (location.file, location.line) == ("topics/contents/contents.yaml", 24)


def test_brokers_that_stamp_as_declared_pass(report: AuditReport) -> None:
    assert finding(report, "contents.appended", "timestamp-type").verdict is Verdict.PASS


def test_no_content_of_a_record_is_in_the_report(report: AuditReport) -> None:
    assert SECRET not in report.model_dump_json()
