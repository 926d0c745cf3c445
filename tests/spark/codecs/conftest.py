"""One JVM for all tests of this room, and the public conformance suites."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark.codecs.judge import Judge, judging


@pytest.fixture(scope="package")
def judge(java: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    with judging(java, tmp_path_factory.mktemp("judge")) as judge:
        yield judge
