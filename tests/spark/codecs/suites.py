"""Where the public conformance suites are; they are data, and no part of this repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

VARIABLE = "TOPICWARDEN_CONFORMANCE"


def suite(name: str) -> Path:
    """Return the folder of a suite. Fails, saying what is missing and where it was looked for."""
    folder = Path(os.environ.get(VARIABLE) or REPOSITORY.parent / "shared" / "conformance") / name
    if not folder.is_dir():
        pytest.fail(
            f"the conformance suite {name} is missing: expected the folder {folder}; "
            f"set {VARIABLE} to the folder that holds json-parsing and json-schema",
            pytrace=False,
        )
    return folder
