"""Find the public conformance suites, which are data outside of this repository."""

from __future__ import annotations

import os
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.support.run_summary import CONFORMANCE_REMEDY, skip_missing

VARIABLE = "TOPICWARDEN_CONFORMANCE"
DEFAULTS = (REPOSITORY.parent / "shared" / "conformance", REPOSITORY / ".cache" / "conformance")


def suite(name: str) -> Path:
    """Return the folder of a suite. If it is missing, skip the test with the folders that were searched."""
    configured = os.environ.get(VARIABLE)
    parents = (Path(configured),) if configured else DEFAULTS
    for parent in parents:
        if (parent / name).is_dir():
            return parent / name
    return skip_missing(
        name,
        f"the conformance suite {name} is missing: expected the folder {name} in "
        f"{' or '.join(str(parent) for parent in parents)}; "
        f"{CONFORMANCE_REMEDY}, or set {VARIABLE} to the folder that holds it",
    )
