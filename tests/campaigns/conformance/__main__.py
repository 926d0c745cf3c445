"""Run all conformance data, and record the versions of the libraries that they passed with.

The suite runs a fifth of the data while these versions stay: ``python -m tests.campaigns.conformance``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.campaigns.conformance.library_versions import RECORD, library_versions


def main() -> int:
    """Run the tests of this folder; if none failed and none was skipped, write ``library_versions.json``."""
    skips = SkipCounter()
    code = pytest.main(["--campaign", "--fail-on-flaky", str(Path(__file__).parent)], plugins=[skips])
    if code == pytest.ExitCode.OK and not skips.count:
        RECORD.write_text(json.dumps(library_versions(), indent=2) + "\n", encoding="utf-8")
    return int(code)


class SkipCounter:
    """Counts the tests that are skipped."""

    def __init__(self) -> None:
        self.count = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.count += report.skipped


if __name__ == "__main__":
    sys.exit(main())
