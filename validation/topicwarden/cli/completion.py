"""The words that a shell completes: stacks, topics, and what `topicwarden rules` documents.

A completion runs at every press of the Tab key. So it parses no YAML, imports no rules, and is silent on every error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Final, TypeAlias

from topicwarden.model.files import read_regular_file
from topicwarden.model.project import find_project

Complete: TypeAlias = Callable[[str], list[str]]
"""A function that returns the words that begin with an incomplete one."""

_TOPIC: Final = re.compile(rb"(?:^|[{,])[ \t]*[\"']?topic[\"']?:[ \t]+[\"']?([A-Za-z0-9._-]+)", re.MULTILINE)
_PACKAGE: Final = Path(__file__).parents[1]
_PAGES: Final = ("rules", "checks", "runbook", "guards", "permissions", "services", "alerts", "dashboard", "all")


def _completing(words: Callable[[], Iterable[str]]) -> Complete:
    @wraps(words)
    def complete(incomplete: str) -> list[str]:
        try:
            return sorted({word for word in words() if word.startswith(incomplete)})
        except Exception:  # noqa: BLE001 -- an error message would appear in the middle of the user's command line
            return []

    del complete.__wrapped__  # typer would see the parameters of ``words``
    return complete


@_completing
def stacks() -> Iterable[str]:
    """Return the stacks of the project."""
    return find_project().stack_names()


@_completing
def topics() -> Iterable[str]:
    """Return the names of the declared topics, as far as the text of the files shows them."""
    for path in find_project().topics.rglob("*.yaml"):
        names = _TOPIC.findall(read_regular_file(path))
        yield from (name.decode() for name in names)
        if not names and not path.stem.startswith("_"):
            yield path.stem


@_completing
def documented() -> Iterable[str]:
    """Return the pages of `topicwarden rules`, and the ids of all rules and checks, which are named as their files."""
    folders = ("policies/rules", "audit/checks", "kinds/*/checks")
    modules = (path.stem for folder in folders for path in _PACKAGE.glob(f"{folder}/*.py"))
    yield from _PAGES
    yield from (name.replace("_", "-") for name in modules if not name.startswith("_"))


@_completing
def concepts() -> Iterable[str]:
    """Return the concepts that `topicwarden help` explains."""
    from topicwarden.cli.help import PAGES

    return PAGES
