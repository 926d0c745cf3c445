"""`topicwarden rules`: print what is generated from the docstrings of rules, checks and consequences."""

from __future__ import annotations

import shutil
import textwrap
from typing import Annotated, Final

import typer

from topicwarden.cli import completion
from topicwarden.model.message_text import did_you_mean
from topicwarden.model.problem import Refusal
from topicwarden.report import terminal_output

app = typer.Typer()

ALL: Final = "all"
_COLUMNS: Final = 100
_TITLES: Final = {
    "rules": "the rules for the YAML, with their settings",
    "checks": "the checks of the audit",
    "runbook": "what to do about each finding of the audit",
    "guards": "the consequences of changes that the plan predicts",
    "permissions": "the permissions in Kafka that each command needs",
    "services": "managed services, and what each of them does in its own way",
    "alerts": "alerts, for Prometheus",
    "dashboard": "a dashboard, for Grafana",
}


@app.command(epilog="Example: topicwarden rules checks > docs/checks.md")
def rules(
    page_name: Annotated[
        str | None,
        typer.Argument(
            metavar="WHAT",
            help="rules (of the YAML), checks (of the audit), runbook (for its findings), guards (of the plan), "
            "permissions (in Kafka), services, alerts (for Prometheus), dashboard (for Grafana), or the id of a rule "
            "or check, or all; default: a list of these.",
            show_default=False,
            autocompletion=completion.documented,
        ),
    ] = None,
) -> int:
    """Print the documentation of every rule, check, guard, permission and managed service, or files for monitoring."""
    from topicwarden.audit.check_docs import check_docs
    from topicwarden.cli.pages import MONITORING, PAGES
    from topicwarden.cli.pages.rules_page import rule_docs

    documented = {**rule_docs(), **check_docs()}
    if page_name is None:
        terminal_output.write_text(_contents())
        return 0
    if page_name in documented:
        terminal_output.write(f"## {page_name}\n\n{documented[page_name]}\n")
        return 0
    if page_name in MONITORING:
        _, write_file = MONITORING[page_name]
        terminal_output.write(write_file())
        return 0
    if page_name not in (*PAGES, ALL):
        names = [*PAGES, *MONITORING, ALL]
        pages = f"expected one of {', '.join(names)}, or the id of a rule or check"
        raise Refusal(f"there is no page {page_name!r}: {pages}{did_you_mean(page_name, [*names, *documented])}")
    terminal_output.write("\n".join(write() for name, write in PAGES.items() if page_name in (ALL, name)))
    return 0


def _contents() -> str:
    """Return what the command can print: the pages, and the ids of rules and checks, wrapped to the terminal."""
    from topicwarden.audit.check_docs import check_docs
    from topicwarden.cli.pages.rules_page import rule_docs

    width = min(shutil.get_terminal_size().columns, _COLUMNS)
    lines = ["topicwarden rules WHAT prints one of:", ""]
    for name, text in (*_TITLES.items(), (ALL, "all of these pages, except the files for monitoring")):
        lines.append(f"  {name:12}  {text}")
    for title, names in (("rules", rule_docs()), ("checks", check_docs())):
        ids = textwrap.wrap(", ".join(names), width - 2, break_on_hyphens=False)
        lines += ["", f"or one of these {len(names)} {title}:", "", *(f"  {line}" for line in ids)]
    return "\n".join(lines) + "\n"
