"""The imports in ``tests/unit/importing/cases``: files of other tools, with the topics or problems that follow."""

from __future__ import annotations

from pathlib import Path

from tests.support.cases import Case
from topicwarden.interchange.convert import SourceFile

CASES = Path(__file__).parents[1] / "unit" / "importing" / "cases"


def sources(case: Case) -> list[SourceFile]:
    return [SourceFile(name, data) for name, data in sorted(case.data().items())]


def source(case: Case) -> SourceFile:
    """Return the only file of a case."""
    [file] = sources(case)
    return file
