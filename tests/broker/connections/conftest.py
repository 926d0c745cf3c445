"""Fixtures: one real broker with a listener for each way to authenticate."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.iam import jars_with_check
from tests.support.projects import own_cache
from tests.support.secured import SecuredBroker, secured_broker
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.toolchain import Toolchain


@pytest.fixture(scope="package")
def broker(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with (
        own_cache(tmp_path_factory.mktemp("secured")) as folder,
        secured_broker(
            Sandbox(folder / "sandbox", tools.java, jars_with_check(tools.java, tools.kafka_jars, folder / "jars"))
        ) as broker,
    ):
        yield broker
