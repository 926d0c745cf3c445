"""`topicwarden help`: the pages of the documentation that explain one concept each, for a terminal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

import typer

from topicwarden.cli import completion
from topicwarden.model.message_text import did_you_mean
from topicwarden.model.problem import Refusal
from topicwarden.report import terminal_output

app = typer.Typer()

PAGES: Final = {
    "topics": "reference/topics.md",
    "policies": "reference/policies.md",
    "stacks": "reference/stacks.md",
    "exit-codes": "reference/exit-codes.md",
    "environment": "reference/environment.md",
    "verdicts": "explanation/audits.md",
    "guarantees": "explanation/guarantees.md",
    "spark": "how-to/spark.md",
    "monitoring": "how-to/monitoring.md",
    "scope": "how-to/teams.md",
    "notifications": "reference/notifications.md",
    "production": "how-to/production.md",
}
"""The page in ``docs`` for each concept."""

_PACKAGED = Path(__file__).parents[1] / "help"
"""Where the wheel has the pages."""
_CHECKOUT = Path(__file__).parents[3] / "docs"
_COLUMNS = 80
_RELATIVE_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")


@app.command("help", epilog="Example: topicwarden help exit-codes")
def help_(
    concept: Annotated[
        str | None,
        typer.Argument(
            metavar="CONCEPT",
            help="A concept, such as topics, stacks, verdicts or exit-codes (default: list all).",
            show_default=False,
            autocompletion=completion.concepts,
        ),
    ] = None,
) -> int:
    """Explain a concept: topic files, policies, stacks, verdicts, exit codes, environment variables."""
    from rich.markdown import Markdown

    if concept is None:
        terminal_output.write("\n".join([*(f"{name:13}  {_title(name)}" for name in PAGES), ""]))
        return 0
    if concept not in PAGES:
        expected = f"expected one of {', '.join(PAGES)}; commands have --help"
        raise Refusal(f"there is no page {concept!r}: {expected}{did_you_mean(concept, PAGES)}")
    console = terminal_output.console(min(_COLUMNS, terminal_output.console().width))
    with console.capture() as captured:
        console.print(Markdown(_RELATIVE_LINK.sub(r"\1", _text(concept)), hyperlinks=False))
    terminal_output.write_text("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
    return 0


def _text(concept: str) -> str:
    page = PAGES[concept]
    folder = _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
    try:
        return (folder / page).read_text(encoding="utf-8")
    except OSError as error:
        raise Refusal(f"this installation has no page {page}: reinstall topicwarden from a wheel") from error


def _title(concept: str) -> str:
    return _text(concept).partition("\n")[0].removeprefix("# ")
