"""Fixtures: one real broker with a listener for each way to authenticate."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.projects import own_cache, project_of
from tests.support.secured import SecuredBroker, secured_broker
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.toolchain import Toolchain


@pytest.fixture(scope="package")
def broker(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with (
        own_cache(tmp_path_factory.mktemp("secured")) as folder,
        secured_broker(sandbox_of(project_of(folder / "sandbox", {}))) as broker,
    ):
        yield broker
