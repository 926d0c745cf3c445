"""Fixtures: one broker, and a project whose topics exist there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from tests.support.projects import own_cache, project_of
from tests.support.sandboxes import running
from tests.support.watched import COMPACTED, LARGE, ORDERS, PLAIN, SCRAPED
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain

DECLARED = {
    **dict.fromkeys((ORDERS, SCRAPED), "partitions: 1\nreplication_factor: 1\ncontents: {key: {required: true}}\n"),
    LARGE: "partitions: 4\nreplication_factor: 1\n",
    PLAIN: "partitions: 3\nreplication_factor: 1\ncontents: {key: {required: true}}\n",
    COMPACTED: "partitions: 3\nreplication_factor: 1\nconfig: {cleanup.policy: compact}\n",
}


@pytest.fixture(scope="package")
def project(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with own_cache(tmp_path_factory.mktemp("watch")) as folder:
        yield project_of(folder / "project", {f"{name}.yaml": text for name, text in DECLARED.items()})


@pytest.fixture(scope="package")
def sandbox(project: Project) -> Iterator[Sandbox]:
    with running(sandbox_of(project), brokers=1) as sandbox:
        with KafkaAdminClient(bootstrap_servers=sandbox.bootstrap_servers) as admin:
            admin.create_topics(
                [
                    NewTopic(ORDERS, 1, 1),
                    NewTopic(SCRAPED, 1, 1),
                    NewTopic(LARGE, 4, 1),
                    NewTopic(PLAIN, 3, 1),
                    NewTopic(COMPACTED, 3, 1, topic_configs={"cleanup.policy": "compact"}),
                ]
            )
        yield sandbox
