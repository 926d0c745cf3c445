"""Write the report of a command on several stacks as Markdown: a table of stacks, what differs, and each stack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from topicwarden.model.fleet_report import FleetReport, StackDifference, StackOutcome
from topicwarden.report.fleet.digest import TITLES, headline, omitted, sections, topic_names, value_of
from topicwarden.report.plan.markdown import LIMIT, code, plain

_MOST_ROWS: Final = 60
"""Number of differences of each kind in a table."""
_MOST_TOPICS: Final = 5
_MOST_CHARACTERS: Final = 200
"""Characters of a cell."""


def render(report: FleetReport, parts: Mapping[str, str], limit: int | None = LIMIT) -> str:
    """Return GitHub-flavoured Markdown of at most ``limit`` bytes: by default, those of a comment.

    ``parts`` are the reports by stack. A report that does not fit is left out, with a line that says so.
    """
    lines = [
        f"# {report.command.capitalize()} of several stacks",
        "",
        f"**{plain(headline(report))}**",
        "",
        "| stack | exit code | result |",
        "|---|--:|---|",
        *map(_outcome, report.stacks),
        "",
    ]
    for kind, rows, more in sections(report, _MOST_ROWS):
        lines += [f"## {TITLES[kind]}", "", *_table(report.stacks, rows, more), ""]
    text = "\n".join(lines)
    for stack, part in parts.items():
        separate = f"\n---\n\n{part.rstrip()}\n"
        left_out = f"\n---\n\nThe report of stack {code(stack)} is too long for this page.\n"
        fits = limit is None or len((text + separate).encode()) <= limit - _space_for(parts)
        text += separate if fits else left_out
    return text.rstrip() + "\n"


def _space_for(parts: Mapping[str, str]) -> int:
    """Return the bytes of the lines about reports that are left out, if all of them are."""
    return sum(100 + 4 * len(stack) for stack in parts)


def _outcome(outcome: StackOutcome) -> str:
    reason = "" if outcome.ran else "could not run: "
    return f"| {code(outcome.stack)} | {outcome.exit_code} | {plain(_cut(reason + outcome.summary))} |"


def _table(stacks: Sequence[StackOutcome], rows: Sequence[StackDifference], more: int) -> Iterator[str]:
    heads = [code(outcome.stack) for outcome in stacks]
    yield f"|  | {' | '.join(heads)} | topics |"
    yield f"|---|{'---|' * len(heads)}---|"
    for row in rows:
        cells = [plain(_cut(value_of(row, outcome))) for outcome in stacks]
        yield f"| {code(row.name)} | {' | '.join(cells)} | {plain(_cut(topic_names(row, _MOST_TOPICS)))} |"
    if more:
        yield ""
        yield f"{omitted(more, 'the JSON format')}."


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"
