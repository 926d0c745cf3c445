"""Test that a project that names the official provider is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.conftest import REPOSITORY
from tests.engine.predictions.conftest import Deployment, deployment
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.read.cluster import Cluster

pytestmark = pytest.mark.nightly("It needs another build with Go. The suite has the same tests with the locked one.")
FILE = "home/home.v1.yaml"
TOPIC = "{owner: team, partitions: 2, replication_factor: 2}\n"


@pytest.fixture
def home(servers: list[str], tmp_path: Path) -> Iterator[Deployment]:
    yield deployment(tmp_path / "home", {FILE: TOPIC})
    with connected(servers) as admin:
        admin.delete_topics([name for name in ("home.v1",) if name in admin.list_topics()])


def test_the_official_provider_in_the_folder_that_the_project_names_is_refused(
    home: Deployment, cluster: Cluster
) -> None:
    before = cluster.snapshot({"home.v1"}).topics["home.v1"].own_config
    (official,) = (REPOSITORY / ".cache" / "pulumi" / "home" / "plugins").glob("resource-kafka-*/")
    path = home.project.root / "Pulumi.yaml"
    named = yaml.safe_load(path.read_text()) | {"plugins": {"providers": [{"name": "kafka", "path": str(official)}]}}
    path.write_text(yaml.safe_dump(named))
    home.write({FILE: TOPIC.replace("}", ", config: {retention.ms: 30d}}")})
    assert "is not topicwarden's" in " ".join(home.refused("up --yes --skip-preview").split())
    assert cluster.snapshot({"home.v1"}).topics["home.v1"].own_config == before
