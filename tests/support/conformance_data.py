"""Find the public conformance suites, which are data outside of this repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

VARIABLE = "TOPICWARDEN_CONFORMANCE"
DEFAULTS = (REPOSITORY.parent / "shared" / "conformance", REPOSITORY / ".cache" / "conformance")


def suite(name: str) -> Path:
    """Return the folder of a suite; if it is missing, fail with the folders that were searched."""
    configured = os.environ.get(VARIABLE)
    parents = (Path(configured),) if configured else DEFAULTS
    for parent in parents:
        if (parent / name).is_dir():
            return parent / name
    pytest.fail(
        f"the conformance suite {name} is missing: expected the folder {name} in "
        f"{' or '.join(str(parent) for parent in parents)}; "
        f"run tests/fetch-conformance, or set {VARIABLE} to the folder that holds it",
        pytrace=False,
    )
