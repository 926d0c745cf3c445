"""Fixtures: one real broker with a listener for each way to authenticate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.iam import jars_with_check
from tests.support.projects import own_cache
from tests.support.secured import SecuredBroker, secured_broker
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.toolchain import Toolchain


@pytest.fixture(scope="package")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the cache that all projects share."""
    with own_cache(tmp_path_factory.mktemp("secured"), warm=True) as folder:
        yield folder


@pytest.fixture(scope="package")
def broker(cache: Path, tools: Toolchain) -> Iterator[SecuredBroker]:
    jars = jars_with_check(tools.java, tools.kafka_jars, cache / "jars")
    with secured_broker(Sandbox(cache / "sandbox", tools.java, jars)) as broker:
        yield broker
