"""Run audits of the project, and read their reports."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tests.conftest import REPOSITORY
from tests.support.projects import Shell
from topicwarden.model.project import Project

ENTRY_POINT = REPOSITORY / "validation" / "topicwarden" / "audit" / "__main__.py"
RECORDS, FAULTY = 20_000, 7
"""The records of each topic, and how many of them have a value of the wrong type."""
TIMES_OF_RUN = ("started", "finished", "scan_seconds")


def audit(project: Project, *options: str) -> subprocess.CompletedProcess[str]:
    return Shell(project.root).topicwarden("audit", "--stack", "dev", "--format", "json", *options)


def report(code: int, output: str, errors: str) -> dict[str, Any]:
    """Return the report of an audit without the times. It must have found the values of the wrong type."""
    assert code == 1, errors
    return as_expected(json.loads(output))


def as_expected(values: dict[str, Any]) -> dict[str, Any]:
    """Return a report without the times. It must have found the values of the wrong type."""
    assert [f["topic"] for f in values["findings"] if f["verdict"] == "fail"] == ["s.events"]
    return {name: value for name, value in values.items() if name not in TIMES_OF_RUN}
