"""`topicwarden rules`: what is judged, in the words of the rules and checks themselves."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Final

from topicwarden.audit.checks import CHECKS
from topicwarden.model.problem import Refusal
from topicwarden.plan import guards_page as guards
from topicwarden.policies.rules_page import page
from topicwarden.report import terminal_output


def rules(what: str | None = None) -> int:
    """Prints one of ``PAGES`` as Markdown, or all of them; refuses an unknown name."""
    if what is not None and what not in PAGES:
        raise Refusal(f"there is no page {what!r}: expected one of {', '.join(PAGES)}")
    terminal_output.write("\n".join(write() for name, write in PAGES.items() if what in (None, name)))
    return 0


def check_docs() -> dict[str, str]:
    """The documentation of each check, as Markdown, by its id."""
    return {name: inspect.getdoc(check) or "" for name, check in CHECKS.items()}


def checks_page() -> str:
    """Every check of the audit."""
    parts = ["# Checks", _INTRODUCTION]
    for name, text in check_docs().items():
        parts += [f"## {name}", text]
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """\
What `topicwarden audit` judges on the cluster and its records. A check gives one of four verdicts:

| verdict | meaning |
|---|---|
| `pass` | looked at, and it holds; a message says what looks wrong and is lawful |
| `fail` | broken, with proof: partitions, offsets, timestamps, numbers, and the line of YAML that declares it |
| `suspect` | would be a `fail` if the same still stands at the next audit |
| `undecidable` | the evidence is not to be had; the message says what is missing |

Each check says what holds where it passes, when it may say **fail**, an example, what to do, and where
the rule comes from."""

PAGES: Final[Mapping[str, Callable[[], str]]] = {"rules": page, "checks": checks_page, "guards": guards.page}
"""What the YAML is judged by, what the cluster is, and what a change may do; each is a page of ``docs/``."""
