"""Test the whole JSON of the reports of doctor, audit, usage, and of several stacks.

The JSON of a check and of a plan is tested with their other formats. ``python -m tests.unit.report.test_json_outputs``
writes the expected outputs again: programs read them, so a changed or missing name is a new version of the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.support import reports, usage_reports
from tests.support.diagnoses import rich
from tests.support.fleet_reports import small
from topicwarden.report.audit.formats import json as audit
from topicwarden.report.fleet import json as fleet
from topicwarden.report.published_json import json_text

EXPECTED: Final = Path(__file__).with_name("expected_json")
OUTPUTS: Final[Mapping[str, Callable[[], str]]] = {
    "audit": lambda: audit(reports.rich()),
    "doctor": lambda: json_text(rich(), ascii_only=True),
    "fleet": lambda: fleet.render(small()),
    "usage": lambda: json_text(usage_reports.rich()),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_whole_json(name: str) -> None:
    assert OUTPUTS[name]() == (EXPECTED / f"{name}.json").read_text(encoding="utf-8")


if __name__ == "__main__":
    EXPECTED.mkdir(exist_ok=True)
    for each, output in OUTPUTS.items():
        (EXPECTED / f"{each}.json").write_text(output(), encoding="utf-8")
