"""Test the whole JSON of the reports of doctor, audit, usage, and of several stacks, and of `show`.

The JSON of a check and of a plan is tested with their other formats. ``python -m tests.unit.report.test_json_outputs``
writes the expected outputs again: programs read them, so a changed or missing name is a new version of the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from tests.support import reports, usage_reports
from tests.support.command import project, topicwarden
from tests.support.diagnoses import rich
from tests.support.fleet_reports import small
from topicwarden.report import fleet
from topicwarden.report.audit.formats import json as audit
from topicwarden.report.published_json import json_text

FILES: Final = {
    "topics/_defaults.yaml": "owner: team-platform\nreplication_factor: 3\n",
    "topics/shop/orders.placed.v1.yaml": (
        "description: Orders, as placed\npartitions: 12\n"
        "config: {retention.ms: 7d, cleanup.policy: [compact, delete]}\n"
        "access:\n  produce: [User:shop]\n  consume: [{group: billing, principal: User:billing, max_lag: 1h}]\n"
    ),
    "topics/shop/clicks.yaml": "partitions: 3\nowner: team-web\n",
}


def show(*arguments: str) -> str:
    """Return the JSON of `show` on a project of two topics."""
    with TemporaryDirectory() as folder:
        root = project(Path(folder), FILES, ("prod",))
        done = topicwarden("show", *arguments, "--stack", "prod", "--format", "json", cwd=root)
    assert done.code == 0, done.err
    return done.out


EXPECTED: Final = Path(__file__).with_name("expected_json")
OUTPUTS: Final[Mapping[str, Callable[[], str]]] = {
    "audit": lambda: audit(reports.rich()),
    "doctor": lambda: json_text(rich(), ascii_only=True),
    "fleet": lambda: fleet.render_json(small()),
    "show": show,
    "show-topic": lambda: show("orders.placed.v1"),
    "usage": lambda: json_text(usage_reports.rich()),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_whole_json(name: str) -> None:
    assert OUTPUTS[name]() == (EXPECTED / f"{name}.json").read_text(encoding="utf-8")


if __name__ == "__main__":
    EXPECTED.mkdir(exist_ok=True)
    for each, output in OUTPUTS.items():
        (EXPECTED / f"{each}.json").write_text(output(), encoding="utf-8")
