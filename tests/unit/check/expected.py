"""The expected outputs; run as a module to write them again."""

from __future__ import annotations

from pathlib import Path

from tests.support.command import BAD, topicwarden
from topicwarden.report.problems import FORMATS

EXPECTED = Path(__file__).with_name("expected_outputs")


def outputs() -> dict[str, str]:
    """What each format prints of the bad project."""
    return {form: topicwarden("check", "--format", form, cwd=BAD).out for form in FORMATS}


if __name__ == "__main__":
    for name, text in outputs().items():
        (EXPECTED / f"{name}.txt").write_text(text, encoding="utf-8")
