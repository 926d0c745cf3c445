"""Test that no text of a user, a record or a cluster leaves its place in any format."""

from __future__ import annotations

import html
import io
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from rich.console import Console

from tests.support import reports, usage_reports
from tests.support.hostile_texts import HOSTILE, commands, forbidden, poisoned
from tests.unit.report import plans
from topicwarden.model.problem import Level, Location, Problem
from topicwarden.report import plan, problems, terminal
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.document import document as audit_document
from topicwarden.report.audit.formats import FILES, FORMATS
from topicwarden.report.display import printable
from topicwarden.report.document import Medium
from topicwarden.report.problems.digest import ProblemDigest
from topicwarden.report.terminal_output import without_commands
from topicwarden.report.usage import formats as usage_formats
from topicwarden.report.usage.document import document as usage_document

every_text = pytest.mark.parametrize("text", HOSTILE, ids=ascii)


class _Tags(HTMLParser):
    """Collects what a browser would run or fetch."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.planted: list[str] = []
        self.scripts = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        values = [value or "" for name, value in attrs if name in ("href", "src", "onerror", "onmouseover")]
        if tag == "img" or any("evil.example" in value or "alert" in value for value in values):
            self.planted.append(f"{tag} {attrs}")


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.items() for text in strings(each)]
    if isinstance(value, (list, tuple)):
        return [text for each in value for text in strings(each)]
    return [value] if isinstance(value, str) else []


def assert_harmless(form: str, output: str) -> None:
    output.encode("utf-8")
    assert not forbidden(output)
    if form == "html":
        assert _Tags(output).planted == []
    elif form == "markdown":
        page = MarkdownIt("commonmark", {"html": True}).enable("table").render(output)
        rendered = _Tags(page)
        # GitHub searches the rendered page for mentions and issues, except in code.
        text = html.unescape(re.sub("<[^>]*>", "", re.sub("<code.*?</code>", "", page, flags=re.DOTALL)))
        assert re.findall(r"(?<![\w&])[@#][A-Za-z0-9_-]+", text) == []
        assert re.findall(r"\w://|www\.|\w@\w", text) == []  # GitHub makes links of these
        assert (rendered.planted, rendered.scripts) == ([], 0)
    elif form in ("sarif", "check-json"):
        assert not forbidden("".join(strings(json.loads(output))).replace("\n", ""))
    elif form == "json":
        json.loads(output)
    elif form == "junit":
        ET.fromstring(output)
    elif form == "openmetrics":
        families = text_string_to_metric_families(output)  # type: ignore[no-untyped-call]
        assert all(family.name.startswith("topicwarden_") for family in families)


def test_the_page_of_an_audit() -> None:
    """All texts at once, because the page takes a second."""
    output = FILES["report.html"](poisoned(reports.rich(), " ".join(HOSTILE)), ReportBackground())
    assert_harmless("html", output)
    assert _Tags(output).scripts == 1


@every_text
def test_audit(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    report = poisoned(reports.rich(), text)
    for form, render in FORMATS.items():
        assert_harmless(form, render(report, ReportBackground()))
    out = io.StringIO()
    terminal.write(audit_document(report, Medium.TERMINAL), Console(file=out))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert_harmless("text", without_commands(out.getvalue()))
    assert commands(without_commands(out.getvalue())) == []


@every_text
def test_plan(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    report = poisoned(plans.rich(), text)
    expected = len(commands(plan.render(plans.rich(), "github", Path())))
    for form in plan.FORMATS:
        output = plan.render(report, form, Path())
        assert_harmless(form, output)
        if form == "github":
            assert len(commands(output)) == expected
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert commands(without_commands(plan.render(report, "text", Path()))) == []


def test_the_page_of_usage() -> None:
    """All texts at once, as for an audit."""
    output = usage_formats.FORMATS["html"](poisoned(usage_reports.rich(), " ".join(HOSTILE)))
    assert_harmless("html", output)
    assert _Tags(output).scripts == 1


@every_text
def test_usage(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    report = poisoned(usage_reports.rich(), text)
    for form, render in usage_formats.FORMATS.items():
        assert_harmless(form, render(report))
    out = io.StringIO()
    terminal.write(usage_document(report, Medium.TERMINAL), Console(file=out))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert_harmless("text", without_commands(out.getvalue()))
    assert commands(without_commands(out.getvalue())) == []


@every_text
def test_problems(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    location = Location(f"topics/a{printable(text)}.yaml", 1, 1)
    found = (
        Problem(location, f"seen {text}", "rule", Level.ERROR),
        Problem(location, text, "rule", Level.WARNING),
    )
    page = ProblemDigest(tmp_path, found, (location.file,), 1)
    for form in problems.FORMATS:
        output = problems.render(page, form)
        assert_harmless("check-json" if form == "sarif" else form, output)
        if form == "github":
            assert len(commands(output)) == len(output.splitlines()) == 2
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert commands(without_commands(problems.render(page, "text"))) == []
