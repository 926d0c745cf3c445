"""Generate the expected outputs. Run this module to write them again."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.command import bad_project, topicwarden
from topicwarden.report.problems import FORMATS

EXPECTED = Path(__file__).with_name("expected_outputs")


def outputs(bad: Path) -> dict[str, str]:
    """Return the output of each format for the bad project."""
    return {form: topicwarden("check", "--format", form, cwd=bad).out for form in FORMATS}


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        for name, text in outputs(bad_project(Path(folder))).items():
            (EXPECTED / f"{name}.txt").write_text(text, encoding="utf-8")
