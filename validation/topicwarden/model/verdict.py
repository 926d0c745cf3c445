"""What may be said, and from where on it counts: apart from the findings, as the command line needs no more."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """``fail`` is proof; what cannot be proven is ``suspect`` or ``undecidable``, and says why."""

    PASS = "pass"
    FAIL = "fail"
    SUSPECT = "suspect"
    UNDECIDABLE = "undecidable"


class ReadScope(StrEnum):
    """What an audit reads: everything that stands, or only what was written since the last one."""

    ALL = "all"
    LAST = "last"


BY_WEIGHT = (Verdict.FAIL, Verdict.SUSPECT, Verdict.UNDECIDABLE, Verdict.PASS)


class FailOn(StrEnum):
    """The mildest verdict that makes an audit end in exit code 1."""

    FAIL = "fail"
    SUSPECT = "suspect"
    UNDECIDABLE = "undecidable"
    NEVER = "never"

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Those verdicts, the weightiest first."""
        return () if self is FailOn.NEVER else BY_WEIGHT[: BY_WEIGHT.index(Verdict(self.value)) + 1]
