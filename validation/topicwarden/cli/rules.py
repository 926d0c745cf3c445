"""`topicwarden rules`: print what is generated from the docstrings of rules, checks and consequences."""

from __future__ import annotations

from topicwarden.audit.check_docs import check_docs
from topicwarden.model.message_text import did_you_mean
from topicwarden.model.problem import Refusal
from topicwarden.pages import MONITORING, PAGES
from topicwarden.pages.rules_page import rule_docs
from topicwarden.report import terminal_output


def rules(page_name: str | None = None) -> int:
    """Print the page ``page_name``, or the documentation of one rule or check, as Markdown; None for all pages.

    ``alerts`` and ``dashboard`` are files for Prometheus and Grafana.

    Raises Refusal if there is no such page, rule or check.
    """
    documented = {**rule_docs(), **check_docs()}
    if page_name in documented:
        terminal_output.write(f"## {page_name}\n\n{documented[page_name]}\n")
        return 0
    if page_name is not None and page_name in MONITORING:
        _, write_file = MONITORING[page_name]
        terminal_output.write(write_file())
        return 0
    if page_name is not None and page_name not in PAGES:
        names = [*PAGES, *MONITORING]
        pages = f"expected one of {', '.join(names)}, or the id of a rule or check"
        raise Refusal(f"there is no page {page_name!r}: {pages}{did_you_mean(page_name, [*names, *documented])}")
    terminal_output.write("\n".join(write() for name, write in PAGES.items() if page_name in (None, name)))
    return 0
