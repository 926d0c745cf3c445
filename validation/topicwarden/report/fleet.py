"""The reports on several stacks: for people, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final, Literal

from pydantic import Field

from topicwarden.model.field_types import StrictModel
from topicwarden.model.fleet_report import COULD_NOT_RUN, DifferenceKind, FleetReport, StackDifference, StackOutcome
from topicwarden.model.message_text import counted, first_of
from topicwarden.report import display
from topicwarden.report import document as doc
from topicwarden.report.document import Document, Medium, Tone, badge, line, name, strong
from topicwarden.report.plan.tables import value
from topicwarden.report.problems.json import CheckDocument
from topicwarden.report.published_json import json_text

_UNREAD: Final = "?"
"""Stands for the value of a stack that could not be read."""
_TITLES: Final = {
    DifferenceKind.VERDICT: "Verdicts that differ",
    DifferenceKind.CHANGE: "Pending changes that differ",
    DifferenceKind.SETTING: "Settings that differ",
}
_TONES: Final = {0: Tone.PASS, 3: Tone.NOTE, 1: Tone.FAIL, COULD_NOT_RUN: Tone.FAIL}
_SYMBOLS: Final = {0: "✓", 3: "·", 1: "✗", COULD_NOT_RUN: "?"}
_COMPLETE: Final = {
    Medium.TERMINAL: "--format json has all",
    Medium.MARKDOWN: "the JSON format has all",
    Medium.PAGE: "fleet.json has all",
}


def document(report: FleetReport, medium: Medium, pages: Mapping[str, str] | None = None) -> Document:
    """Return the document of ``report``. ``pages`` are the pages of single stacks, relative to that of the report."""
    differences: list[doc.Block] = [
        doc.DocumentSection(_TITLES[kind], (_matrix(report, kind, medium),), id=kind.value, titled=True)
        for kind in DifferenceKind
        if any(row.kind is kind for row in report.differences)
    ]
    outcomes: tuple[doc.Block, ...] = (doc.DocumentSection("Stacks", (_stacks(report, pages or {}),), id="stacks"),)
    if medium is Medium.TERMINAL:
        outcomes = tuple(map(_outcome, report.stacks))
    terminal = medium is Medium.TERMINAL
    return Document(
        f"{report.command.capitalize()} of several stacks",
        "",
        headline(report),
        headline(report) if terminal else "",
        (*differences, *outcomes) if terminal else (*outcomes, *differences),
        _COMPLETE[medium],
        page_title=f"topicwarden {report.command} of {counted(len(report.stacks), 'stack')}",
    )


def headline(report: FleetReport) -> str:
    """Return ``3 stacks: 1 without a problem, 1 with problems, 1 could not run; exit code 2``."""
    codes = [outcome.exit_code for outcome in report.stacks]
    parts = [
        (codes.count(0), "without a problem"),
        (codes.count(3), "with pending changes"),
        (codes.count(1), "with problems"),
        (sum(not outcome.ran for outcome in report.stacks), "could not run"),
    ]
    shown = ", ".join(f"{number:,} {what}" for number, what in parts if number)
    return f"{counted(len(report.stacks), 'stack')}: {shown}; exit code {report.exit_code}"


def _summary(outcome: StackOutcome) -> str:
    return f"{'' if outcome.ran else 'could not run: '}{outcome.summary}"


def _outcome(outcome: StackOutcome) -> doc.Paragraph:
    mark = strong(f"{_SYMBOLS[outcome.exit_code]} {outcome.stack}:", _TONES[outcome.exit_code])
    return doc.Paragraph(line(mark, f" {_summary(outcome)}"))


def _stacks(report: FleetReport, pages: Mapping[str, str]) -> doc.Table:
    cells = doc.grid(
        report.stacks,
        {
            doc.named("Stack"): lambda outcome: name(outcome.stack, pages.get(outcome.stack, "")),
            "Exit code": lambda outcome: badge(str(outcome.exit_code), _TONES[outcome.exit_code]),
            doc.named("Result"): _summary,
        },
    )
    return doc.Table(*cells, "Stacks with their exit code and result", noun="stack")


def _matrix(report: FleetReport, kind: DifferenceKind, medium: Medium) -> doc.Table:
    cells = doc.grid(
        [row for row in report.differences if row.kind is kind],
        {
            doc.named(kind.value.capitalize() if medium is Medium.PAGE else kind.value): lambda row: name(row.name),
            **{doc.Column(outcome.stack): partial(_value, outcome.stack) for outcome in report.stacks},
            doc.named("Topics", below=True): lambda row: _topics(row, medium.most(3, 5, 20)),
        },
    )
    caption, most = f"{_TITLES[kind]}, one column per stack", medium.most(40, 60, 500)
    return doc.Table(*cells, caption, noun="difference", most=most, share=0.5)


def _value(stack: str, row: StackDifference) -> str:
    text = row.values.get(stack, _UNREAD)
    if row.kind is DifferenceKind.SETTING:
        return value(row.name.removeprefix("config."), text)
    return display.NOTHING if text is None else text


def _topics(row: StackDifference, most: int) -> str:
    """Return ``1,000 topics: a, b and 998 more``, or the name of a single topic."""
    names = first_of(row.topics, most)
    return names if len(row.topics) == 1 else f"{counted(len(row.topics), 'topic')}: {names}"


class FleetDocument(StrictModel):
    """The output of a command with `--all-stacks`, or with several `--stack`, and `--format json`."""

    version: Literal[1] = Field(default=1, description="It changes if programs that read this must change.")
    command: Literal["check", "plan", "audit", "usage"]
    exit_code: int = Field(description="The worst of all stacks: 2 before 1 before 3 before 0.")
    stacks: list[StackOutcome] = Field(description="The results, in the order of the stacks.")
    differences: list[StackDifference] = Field(
        description="What is not the same on all stacks, sorted by kind, name and values."
    )
    check: CheckDocument | None = Field(default=None, description="The problems of all stacks; null unless `check`.")


def render_json(report: FleetReport, check: CheckDocument | None = None) -> str:
    """Return JSON in a stable order, so that two reports can be compared. ``check`` has the problems of a check."""
    document = FleetDocument.model_validate(
        {
            "command": report.command,
            "exit_code": report.exit_code,
            "stacks": list(report.stacks),
            "differences": list(report.differences),
            "check": check,
        }
    )
    return json_text(document)
