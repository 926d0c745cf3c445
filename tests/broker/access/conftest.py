"""Run a broker that denies what no ACL allows, with a user without permissions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.projects import own_cache
from tests.support.restricted_user import RestrictedCluster, restricted_cluster
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.toolchain import Toolchain


@pytest.fixture(scope="package")
def closed(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestrictedCluster]:
    """A cluster that several modules use: none expects that it has nothing of another one."""
    with own_cache(tmp_path_factory.mktemp("access")) as folder:
        sandbox = Sandbox(folder / "closed", tools.java, tools.kafka_jars)
        with restricted_cluster(sandbox, 1, {"allow.everyone.if.no.acl.found": "false"}) as cluster:
            yield cluster
