"""Share one JVM between all tests of this folder, and select the data of this run."""

from __future__ import annotations

import pytest

from tests.campaigns.conformance.library_versions import Selection, runs_all
from tests.spark.codecs.conftest import judge

__all__ = ["judge"]


@pytest.fixture(scope="session")
def selection(pytestconfig: pytest.Config) -> Selection:
    return Selection(everything=runs_all(pytestconfig))
