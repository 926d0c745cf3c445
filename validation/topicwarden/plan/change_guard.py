"""Describes a change that a consequence reports, for the page of all guards."""

from __future__ import annotations

from dataclasses import dataclass

from topicwarden.model.topic import AllowedChange


@dataclass(frozen=True)
class ChangeGuard:
    """A change, the words that allow it (without, nothing does), and why it is reported.

    ``consequence`` is the kind of the consequence if it is not that of its module.
    """

    change: str
    allow: tuple[AllowedChange, ...]
    why: str
    consequence: str = ""
