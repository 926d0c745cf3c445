"""Test the report on several stacks in every format: what differs, bounds, hostile names, and the published schema."""

from __future__ import annotations

import io
import json as stdlib_json
from html.parser import HTMLParser

import pytest
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt
from rich.cells import cell_len
from rich.console import Console

from tests.support import usage_reports
from tests.support.fleet_reports import STACKS, difference, small, written
from tests.support.hostile_texts import HOSTILE, forbidden
from tests.unit.report import plans
from topicwarden.cli.fleet import with_parts
from topicwarden.cli.schema import SCHEMAS
from topicwarden.model.fleet_report import FleetReport, StackOutcome
from topicwarden.report import fleet, terminal
from topicwarden.report.document import Medium
from topicwarden.report.fleet import document
from topicwarden.report.markdown import LIMIT


def large(topics: int = 1_000) -> FleetReport:
    """Many topics on five stacks that differ in every way."""
    outcomes = [StackOutcome(stack=stack, exit_code=0, summary=f"{topics:,} topics") for stack in STACKS]
    rows = [
        difference("config.retention.ms", [f"orders.{number}.v1"], *(str(number * n) for n in range(5)), kind=kind)
        for kind in ("verdict", "setting")
        for number in range(topics)
    ]
    return FleetReport("audit", outcomes, rows)


def printed(report: FleetReport, width: int = 80, **options: str) -> str:
    out = io.TextIOWrapper(io.BytesIO(), encoding=options.get("encoding", "utf-8"), write_through=True)
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    terminal.write(document(report, Medium.TERMINAL), console)
    return out.buffer.getvalue().decode()


def test_the_whole_text() -> None:
    assert printed(small()).splitlines() == [
        "=== verdicts that differ",
        "verdict              dev   staging  prod",
        "─" * 40,
        "tombstone-retention  pass  fail     ?",
        "  orders.v1",
        "",
        "=== settings that differ",
        "setting              dev  staging  prod",
        "─" * 39,
        "partitions           1    12       12",
        "  1,000 topics: t0000, t0001, t0002 and 997 more",
        "config.retention.ms  1d   –        7d",
        "  orders.v1",
        "",
        "✓ dev: 2 topics",
        "✗ staging: 2 topics: 1 fail",
        "? prod: could not run: no Kafka cluster answers at 10.0.0.7:9092",
        "",
        "3 stacks: 1 without a problem, 1 with problems, 1 could not run; exit code 2",
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_large_matrix_fits_the_terminal_and_is_bounded(width: int) -> None:
    lines = printed(large(), width=width).splitlines()
    # The last line is never wrapped, for grep.
    assert max(map(cell_len, lines[:-1])) <= width
    assert len(lines) < 900
    assert "960 more differences; --format json has all" in " ".join(" ".join(lines).split())


def test_a_console_without_unicode_gets_ascii() -> None:
    assert printed(small(), encoding="ascii").isascii()


def test_every_format_of_a_large_matrix_is_bounded() -> None:
    parts = dict.fromkeys(STACKS, "x" * 30000)
    comment = with_parts(large(), parts)
    assert len(comment.encode()) <= LIMIT
    assert "too long for this page" in comment
    assert len(written(large())) < 1_000_000
    assert len(stdlib_json.loads(fleet.render_json(large()))["differences"]) == 2_000
    assert len(with_parts(large(), parts, None).encode()) > 5 * 30_000


@pytest.mark.parametrize(
    "report",
    [
        small(),
        large(50),
        FleetReport("plan", [StackOutcome(stack="a", exit_code=3, summary="s", report=plans.rich())], []),
        FleetReport("usage", [StackOutcome(stack="a", exit_code=0, summary="s", report=usage_reports.rich())], []),
    ],
    ids=["small", "large", "plan", "usage"],
)
def test_json_meets_its_published_schema(report: FleetReport) -> None:
    document = stdlib_json.loads(fleet.render_json(report))
    Draft202012Validator(SCHEMAS["fleet"]()).validate(document)
    assert document["exit_code"] == report.exit_code
    for outcome, entry in zip(report.stacks, document["stacks"], strict=True):
        expected = None if outcome.report is None else stdlib_json.loads(outcome.report.model_dump_json())
        assert entry["report"] == expected


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_are_shown_as_text(hostile: str) -> None:
    report = FleetReport(
        "audit",
        [StackOutcome(stack=name, exit_code=2, summary=hostile) for name in (hostile or "empty", "b")],
        [difference(hostile, [hostile, "t"], hostile, None)],
    )
    shown = printed(report)
    assert forbidden(shown) == forbidden(with_parts(report, {})) == forbidden(written(report))
    assert len(shown.splitlines()) < 200
    tables = [
        token
        for token in MarkdownIt("commonmark").enable("table").parse(with_parts(report, {}))
        if token.type == "tr_open"
    ]
    assert len(tables) == 5


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.links += [value or "" for name, value in attributes if name in ("href", "src")]


def test_the_page_links_to_the_pages_of_its_stacks_only() -> None:
    tags = Tags()
    tags.feed(written(small(), {"dev": "dev/report.html"}))
    assert (tags.scripts, tags.links) == (0, ["#main", "dev/report.html"])


def test_two_reports_of_the_same_state_are_equal() -> None:
    assert fleet.render_json(small()) == fleet.render_json(small())
    assert printed(small()) == printed(small())
    assert with_parts(small(), {}) == with_parts(small(), {})
