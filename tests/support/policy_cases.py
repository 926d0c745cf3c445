"""The projects in ``tests/unit/policies/cases``, which the check and the policy pack judge alike."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from tests.support.cases import Case
from topicwarden.model.project import Project

CASES = Path(__file__).parents[1] / "unit" / "policies" / "cases"
STACKS = ("dev", "prod")
TODAY = date(2026, 6, 1)
"""The date on which all cases are judged."""


def project_of(case: Case, folder: Path) -> Project:
    """Write the project of a case. A case without ``stacks/`` gets the stacks dev and prod."""
    tree = case.write(folder / case.name)
    if not (tree / "stacks").is_dir():
        (tree / "stacks").mkdir()
        for stack in STACKS:
            (tree / "stacks" / f"Pulumi.{stack}.yaml").touch()
    return Project(tree)
