"""Fixtures: a cluster of two brokers whose user has exactly the permissions that a test grants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.access_clients import user_listener
from tests.support.projects import own_cache, project_of
from tests.support.restricted_user import RestrictedCluster, restricted_cluster
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.toolchain import Toolchain

_MONTH_MS = 30 * 86_400_000
_QUIET = {
    "log.retention.check.interval.ms": str(_MONTH_MS),
    "log.initial.task.delay.ms": str(_MONTH_MS),
    "log.cleaner.enable": "false",
    "log.retention.hours": "1",
}
"""Brokers that delete nothing, so that every audit and every plan sees the same records."""


@pytest.fixture(scope="package")
def folder(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_cache(tmp_path_factory.mktemp("permissions"), warm=True) as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PULUMI_CONFIG_PASSPHRASE", "of no stack on the sandbox")
        yield folder


@pytest.fixture(scope="package")
def cluster(folder: Path) -> Iterator[RestrictedCluster]:
    with restricted_cluster(sandbox_of(project_of(folder / "sandbox", {})), 2, _QUIET | user_listener()) as cluster:
        yield cluster
