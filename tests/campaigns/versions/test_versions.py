"""Test some parts on the oldest and the newest version of Kafka; ``python -m tests.campaigns.versions`` runs all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.campaigns.versions.clusters import VERSIONS, KafkaVersion, running_cluster
from tests.campaigns.versions.features import cordoned, eligible_leaders, streams_groups
from tests.campaigns.versions.parts import Stage, audit, create, delete, plan, staged
from tests.support.projects import own_cache
from topicwarden.toolchain import Toolchain

OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]


@pytest.mark.nightly("The suite keeps the oldest version; every other test runs the locked one.", stays=("oldest",))
@pytest.mark.parametrize(
    ("version", "parts"),
    [(OLDEST, (create, plan, audit, delete)), (NEWEST, (create, eligible_leaders, streams_groups, cordoned))],
    ids=["oldest", "newest"],
)
@pytest.mark.usefixtures("spark")
def test_a_version_of_kafka(
    version: KafkaVersion, parts: tuple[Callable[[Stage], None], ...], tools: Toolchain, tmp_path: Path
) -> None:
    with (
        own_cache(tmp_path, warm=True) as folder,
        running_cluster(version, tools.java, folder) as cluster,
        staged(cluster, folder) as stage,
    ):
        for part in parts:
            part(stage)
