"""Fixtures: three brokers, so that the leaders of a transaction's partitions are on several of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.redrives import RedriveProject, redrive_project
from topicwarden.toolchain import Toolchain


@pytest.fixture(scope="package")
def redrives(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedriveProject]:
    with redrive_project(tmp_path_factory.mktemp("redrive"), brokers=3) as redrives:
        yield redrives
