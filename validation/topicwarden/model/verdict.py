"""Verdicts, and the verdict from which on an audit fails.

This module is separate from the findings, because the command line needs only these types.
"""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """The verdict of a check. ``fail`` is proven; ``suspect`` and ``undecidable`` come with the reason."""

    PASS = "pass"
    FAIL = "fail"
    SUSPECT = "suspect"
    UNDECIDABLE = "undecidable"


class ReadScope(StrEnum):
    """The records that an audit reads: all records, or only those written since the last audit."""

    ALL = "all"
    LAST = "last"


WORST_FIRST = (Verdict.FAIL, Verdict.SUSPECT, Verdict.UNDECIDABLE, Verdict.PASS)


class FailOn(StrEnum):
    """The mildest verdict that makes an audit end with exit code 1."""

    FAIL = "fail"
    SUSPECT = "suspect"
    UNDECIDABLE = "undecidable"
    NEVER = "never"

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts that lead to exit code 1, the worst first."""
        return () if self is FailOn.NEVER else WORST_FIRST[: WORST_FIRST.index(Verdict(self.value)) + 1]
