"""Test the usage report in every format for fixed reports."""

from __future__ import annotations

import io
import json as stdlib_json
import re
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import pytest
from markdown_it import MarkdownIt
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from rich.cells import cell_len
from rich.console import Console

from tests.support import reports, usage_reports
from tests.support.reports import DAY, HOUR, NOW
from topicwarden.cli.schema import SCHEMAS
from topicwarden.model.usage import UserKind
from topicwarden.model.usage_report import UsageReport, UsedBetween
from topicwarden.report import terminal
from topicwarden.report.audit import formats as audit_formats
from topicwarden.report.document import Medium
from topicwarden.report.markdown import LIMIT
from topicwarden.report.published_json import json_text
from topicwarden.report.usage import formats, openmetrics
from topicwarden.report.usage.digest import growth_text, headline, interval_text, lag_text, money, recency, summary
from topicwarden.report.usage.document import MAX_ITEMS, document
from topicwarden.report.usage.openmetrics import MOST_LAGS

MARKDOWN, PAGE = formats.FORMATS["markdown"], formats.FORMATS["html"]
EXPECTED = Path(__file__).parent / "expected_usage"
REPORTS = (usage_reports.rich, usage_reports.empty, usage_reports.thousand)


def printed(report: UsageReport, width: int | None = None) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=width is not None, color_system=None)
    terminal.write(document(report, Medium.TERMINAL), console)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("text.txt", printed(usage_reports.rich(), 80)),
        ("markdown.txt", MARKDOWN(usage_reports.rich())),
        ("openmetrics.txt", openmetrics.render(usage_reports.rich())),
    ],
)
def test_the_whole_output(name: str, output: str) -> None:
    """After a change of wording, run this file as a program, and review the diff."""
    assert output == (EXPECTED / name).read_text(encoding="utf-8")


def fifty() -> UsageReport:
    """Return the report of a thousand topics with fifty of them: its schema takes milliseconds for each."""
    report = usage_reports.thousand()
    return report.model_copy(update={"topics": report.topics[:50]})


@pytest.mark.parametrize("report", [usage_reports.rich, usage_reports.empty, fifty])
def test_json_follows_its_schema_and_reads_back(report: Callable[[], UsageReport]) -> None:
    drawn = json_text(report())
    jsonschema.validate(stdlib_json.loads(drawn), SCHEMAS["usage"](), jsonschema.Draft202012Validator)
    assert json_text(UsageReport.model_validate_json(drawn)) == drawn


@pytest.mark.parametrize("width", [80, 140])
def test_terminal_output_fits_the_width_and_begins_with_what_needs_attention(width: int) -> None:
    lines = printed(usage_reports.rich(), width).splitlines()
    # The last line is never wrapped, for grep.
    assert max(map(cell_len, lines[:-1])) <= width
    first = lines.index("")
    whole = " ".join(map(str.strip, lines[:first]))
    assert whole == "2 uses without a declaration; nobody uses 1 topic and 1 group; nobody was seen to use 1 ACL."
    assert lines[first + 1].startswith("undeclared orders.placed.v1: group fraud-scoring reads it")
    assert "    declared    topics/orders/orders.placed.v1.yaml:7:3" in lines
    assert lines[-1] == summary(usage_reports.rich())


def test_many_items_and_topics_are_counted() -> None:
    lines = printed(usage_reports.thousand(), 100).splitlines()
    assert sum(line.startswith("undeclared domain") for line in lines) == MAX_ITEMS
    assert "and 40 more undeclared items; --format json and the files of --out have all" in lines
    assert "and 90 more idle items; --format json and the files of --out have all" in lines
    rest = "and 980 more topics, 469.4 TiB on all replicas, 480,690.00 EUR per month; --format json"
    assert any(line.startswith(rest) for line in lines)
    assert "and 17 more owners; --format json and the files of --out have all" in lines
    assert len(lines) < 250


@pytest.mark.parametrize(
    ("size", "price", "rest"),
    [
        (None, None, "and 5 more topics, – on all replicas, – EUR per month"),
        (1024, 2.0, "and 5 more topics, at least 1.0 KiB on all replicas, at least 2.00 EUR per month"),
    ],
)
def test_unknown_sizes_and_costs_are_not_counted_as_zero(size: int | None, price: float | None, rest: str) -> None:
    topics = [usage_reports.topic(f"a.t{number}", None) for number in range(24)]
    lines = printed(usage_reports.report([*topics, usage_reports.topic("a.z", size, price)]), 140).splitlines()
    assert any(line.startswith(rest) for line in lines), lines


def test_a_pipe_and_a_terminal_without_unicode_get_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    piped = printed(usage_reports.rich())
    assert "\x1b" not in piped
    assert max(map(cell_len, piped.splitlines()[:-1])) <= 120
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding="ascii", write_through=True), width=80)
    terminal.write(document(usage_reports.rich(), Medium.TERMINAL), console)
    assert raw.getvalue().isascii()


def test_a_report_without_prices_has_no_costs() -> None:
    topics = [usage_reports.topic("a.t1", 1 << 30), usage_reports.topic("a.t2", None)]
    report = usage_reports.report(topics, currency=None)
    assert summary(report) == "2 topics, at least 1.0 GiB on all replicas"
    for render in (printed, MARKDOWN, PAGE):
        assert "month" not in render(report)
    assert "cost" not in openmetrics.render(report)


def test_what_is_not_proven_to_be_unused_is_only_called_not_seen() -> None:
    report = usage_reports.rich()
    removable = [each.model_copy(update={"proven": False}) for each in report.removable]
    report = report.model_copy(update={"removable": removable, "undeclared": []})
    assert headline(report) == "Nobody was seen to use 1 topic, 1 group and 1 ACL."
    assert summary(report).endswith(", 17.75 EUR per month, 3.20 of it for what nobody was seen to use")
    assert 'usage_removable{stack="prod",kind="topic",proven="no"} 1' in openmetrics.render(report)
    for render in (printed, MARKDOWN):
        assert "nobody uses" not in render(report).lower()


def test_equal_states_at_other_times_have_equal_texts() -> None:
    """A report of the next day differs only where the state differs."""
    topics = [usage_reports.topic("a.t1", 1 << 30, last_written=UsedBetween(after=NOW - DAY, until=NOW))]
    later = [usage_reports.topic("a.t1", 1 << 30, last_written=UsedBetween(after=NOW + HOUR, until=NOW + DAY))]
    first, second = usage_reports.report(topics), usage_reports.report(later, taken_at=NOW + DAY)
    assert printed(first) == printed(second)
    assert MARKDOWN(first) == MARKDOWN(second)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (recency(None, NOW), "–"),
        (recency(UsedBetween(after=NOW - HOUR, until=NOW), NOW), "last 2 h"),
        (recency(UsedBetween(after=NOW - 7 * DAY, until=NOW), NOW), "last 8 d"),
        (recency(UsedBetween(after=NOW - 60 * DAY, until=NOW - 50 * DAY), NOW), "by 2025-08-20"),
        (interval_text(None), "not seen"),
        (interval_text(UsedBetween(after=NOW, until=NOW)), "2025-10-09 08:53 UTC"),
        (interval_text(UsedBetween(after=NOW - DAY, until=NOW)), "between 2025-10-08 08:00 and 2025-10-09 09:00 UTC"),
        (growth_text(None), "–"),
        (growth_text(-2048), "-2.0 KiB"),
        (growth_text(0), "+0 B"),
        (money(None), "–"),
        (money(1234.5), "1,234.50"),
        (money(-0.0), "0.00"),
        (lag_text(usage_reports.reader("g", lag=0, lag_ms=None)), "0 offsets"),
        (lag_text(usage_reports.reader("g", lag=1, lag_ms=HOUR)), "1 offset, 1 h"),
        (lag_text(usage_reports.reader("g", lag=None)), "–"),
    ],
)
def test_words_and_units(shown: str, expected: str) -> None:
    assert shown == expected


@pytest.mark.parametrize("name", ["ok", "a|b", "@everyone", "x" * 32_000])
def test_markdown_stays_below_githubs_limit_and_its_tables_are_whole(name: str) -> None:
    topics = [
        usage_reports.topic(f"t{number}", 1, 1.0, owner=name, readers=[usage_reports.reader(name)])
        for number in range(200)
    ]
    report = usage_reports.report(topics, notes=[name] * 50, removable=usage_reports.thousand().removable)
    output = MARKDOWN(report)
    assert len(output.encode()) < LIMIT
    assert "more topics; the JSON has all" in output
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(output)
    cells = Counter(token.type for token in tokens)
    assert cells["table_open"] >= 2
    for table in re.findall(r"(?:^\|.*\n)+", output, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


class _Page(HTMLParser):
    """Collects the ids and the links of a page, and what it would fetch."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if tag == "a" else []
        self.fetched += [values["src"]] if "src" in values else []


@pytest.mark.parametrize("report", REPORTS)
def test_the_page_is_whole_and_fetches_nothing(report: Callable[[], UsageReport]) -> None:
    page = _Page(PAGE(report()))
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert page.fetched == []


def test_the_page_shows_who_uses_a_topic_and_how() -> None:
    page = PAGE(usage_reports.rich())
    for shown in (
        "share group",
        "transactional id",
        "User:fraud, User:ml",
        "1,204 offsets, 1 min 30 s",
        "between 2025-08-09 08:00 and 2025-08-10 09:00 UTC",
        "storage 14.00, tiered –, written 0.30, read –",
    ):
        assert shown in page


def test_a_page_of_1_000_topics_opens() -> None:
    page = PAGE(usage_reports.thousand())
    assert len(page) < 1_000_000
    assert "And the details of 900 more topics; the JSON has all." in page


def test_an_audit_writes_the_page_and_links_to_it_if_the_use_was_observed() -> None:
    without = audit_formats.contents(reports.rich())
    assert "usage.html" not in without
    assert "usage.html" not in without["report.html"]
    files = audit_formats.contents(reports.rich().model_copy(update={"usage": usage_reports.rich()}))
    assert '<a href="usage.html">' in files["report.html"]
    assert '<a href="report.html">' in files["usage.html"]
    assert stdlib_json.loads(files["report.json"])["usage"]["stack"] == "prod"
    assert 'topicwarden_topic_replica_bytes{stack="prod",topic="orders.placed.v1"}' in files["report.prom"]


def test_metrics_have_topics_and_groups_but_no_other_users_and_nothing_for_unknown_numbers() -> None:
    output = openmetrics.render(usage_reports.rich())
    for name in ("export", "orders-service", "4711", "10.0.0.7", "User:"):
        assert name not in output
    found = {
        (sample.name, sample.labels.get("topic")): sample.value
        for family in text_string_to_metric_families(output)  # type: ignore[no-untyped-call]
        for sample in family.samples
    }
    assert found["topicwarden_topic_replica_bytes", "orders.placed.v1"] == 120 << 30
    assert ("topicwarden_topic_tiered_bytes", "orders.placed.v1") not in found
    assert ("topicwarden_topic_last_write_timestamp_seconds", reports.LONG) not in found
    labels = {label for family in text_string_to_metric_families(output) for s in family.samples for label in s.labels}  # type: ignore[no-untyped-call]
    assert labels == {"stack", "topic", "action", "declared", "kind", "proven", "currency", "owner", "domain", "group"}


def test_the_groups_with_series_are_limited_to_those_whose_unread_records_are_oldest() -> None:
    readers = [usage_reports.reader(f"group-{n}", lag_ms=n) for n in range(MOST_LAGS + 7)]
    output = openmetrics.render(usage_reports.report([usage_reports.topic("a.b.v1", 1, readers=readers)]))
    groups = set(re.findall(r'group="group-(\d+)"', output))
    assert groups == {str(n) for n in range(7, MOST_LAGS + 7)}
    assert 'topicwarden_group_lags_left_out{stack="prod"} 7' in output


def test_formats_and_files_are_the_same() -> None:
    report = usage_reports.rich()
    assert set(formats.contents(report).values()) == {render(report) for render in formats.FORMATS.values()}
    assert {user.kind for topic in report.topics for user in (*topic.writers, *topic.readers)} == set(UserKind)


if __name__ == "__main__":
    for file, output in (
        ("text.txt", printed(usage_reports.rich(), 80)),
        ("markdown.txt", MARKDOWN(usage_reports.rich())),
        ("openmetrics.txt", openmetrics.render(usage_reports.rich())),
    ):
        (EXPECTED / file).write_text(output, encoding="utf-8")
