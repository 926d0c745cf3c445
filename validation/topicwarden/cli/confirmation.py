"""Asks before a command changes something."""

from __future__ import annotations

import sys

import typer

from topicwarden.model.problem import Refusal


def require_terminal(instead: str) -> None:
    """Refuse if nobody can confirm. ``instead`` is what shows the changes without making them."""
    if not sys.stdin.isatty():
        raise Refusal(f"no terminal to confirm on: pass --yes, or show the changes with `{instead}`")


def confirmed(question: str) -> bool:
    """Return whether the user answers ``question`` with yes."""
    return typer.confirm(question)
