"""The libraries that the conformance data test, and how much of the data a run needs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final, TypeVar

import pytest

from tests.conftest import REPOSITORY

RECORD: Final = Path(__file__).with_name("library_versions.json")
"""The versions with which all data passed last."""
_PYTHON: Final = ("cel-expr-python", "jsonschema", "regress")
_JAVA: Final = ("dev.cel:cel", "com.fasterxml.jackson.core:jackson-databind", "com.networknt:json-schema-validator")
_POM: Final = REPOSITORY / "validation" / "spark-reader" / "pom.xml"
SHARE: Final = 5
"""The suite runs one of so many cases."""
Case = TypeVar("Case")
Test = TypeVar("Test", bound=Callable[..., None])


def library_versions() -> dict[str, str]:
    """Return the version of each library, by its name in its registry."""
    pom = _POM.read_text(encoding="utf-8")
    return {name: version(name) for name in _PYTHON} | {name: _java_version(pom, name) for name in _JAVA}


def _java_version(pom: str, name: str) -> str:
    group, _, artifact = name.partition(":")
    found = re.search(
        rf"<groupId>{re.escape(group)}</groupId>\s*<artifactId>{artifact}</artifactId>\s*<version>(.+?)</version>", pom
    )
    assert found, f"{_POM} has no dependency {name}"
    text = found[1]
    if text.startswith("${"):
        defined = re.search(rf"<{re.escape(text[2:-1])}>(.+?)<", pom)
        assert defined, f"{_POM} does not define {text}"
        text = defined[1]
    return text


def have_passed() -> bool:
    """Return whether all data passed with the versions of the libraries that are used now."""
    found: dict[str, str] = json.loads(RECORD.read_text(encoding="utf-8"))
    return library_versions() == found


def runs_all(config: pytest.Config) -> bool:
    """Return whether all data are run: in the campaign, and with libraries that have not passed all data."""
    return bool(config.getoption("--campaign")) or not have_passed()


def night_only(*stays: str) -> Callable[[Test], Test]:
    """Leave a test to the night, apart from the cases ``stays``, while the libraries have the versions that passed."""
    if not have_passed():
        return lambda test: test
    reason = "The suite keeps a part of each kind of data, and runs all data with another version of a library."
    return pytest.mark.nightly(reason, stays=stays)


class Selection:
    """The cases that a run needs: all, or a fixed share."""

    def __init__(self, *, everything: bool) -> None:
        self.share = 1 if everything else SHARE

    def of(self, cases: Sequence[Case], first: int = 0) -> Sequence[Case]:
        """Return the selected cases, beginning with number ``first``; different numbers select different cases."""
        return cases[first % self.share :: self.share]
