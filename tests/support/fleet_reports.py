"""Reports on several stacks."""

from __future__ import annotations

from tests.support import reports
from topicwarden.model.fleet_report import DifferenceKind, FleetReport, StackDifference, StackOutcome
from topicwarden.report import page
from topicwarden.report.document import Medium
from topicwarden.report.fleet import document

STACKS = ("dev", "staging", "prod", "eu-west-1", "eu-east-1")


def difference(name: str, topics: list[str], *values: str | None, kind: str = "setting") -> StackDifference:
    by_stack = dict(zip(STACKS, values, strict=False))
    return StackDifference(kind=DifferenceKind(kind), name=name, values=by_stack, topics=topics)


def small() -> FleetReport:
    return FleetReport(
        "audit",
        [
            StackOutcome(stack="dev", exit_code=0, summary="2 topics", report=reports.empty()),
            StackOutcome(stack="staging", exit_code=1, summary="2 topics: 1 fail", report=reports.rich()),
            StackOutcome(stack="prod", exit_code=2, summary="no Kafka cluster answers at 10.0.0.7:9092"),
        ],
        [
            difference("tombstone-retention", ["orders.v1"], "pass", "fail", kind="verdict"),
            difference("partitions", [f"t{number:04}" for number in range(1_000)], "1", "12", "12"),
            difference("config.retention.ms", ["orders.v1"], "86400000", None, "604800000"),
        ],
    )


def written(report: FleetReport, pages: dict[str, str] | None = None) -> str:
    return page.write(document(report, Medium.PAGE, pages))
