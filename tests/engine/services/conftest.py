"""Fixtures: three real brokers, and for each service a stand-in in front of them with a project of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache as cache_of
from pathlib import Path

import pytest

from tests.engine.predictions.conftest import Deployment
from tests.engine.services.standins import RECOGNIZED, SERVICES
from tests.support.projects import empty_stack, own_cache, project_of
from tests.support.sandboxes import running
from tests.support.service_gate import service_gate
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.toolchain import Toolchain

DAY = 86_400_000


@pytest.fixture(scope="package")
def cache(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_cache(tmp_path_factory.mktemp("services"), warm=True) as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PULUMI_CONFIG_PASSPHRASE", "services")
        yield folder


@pytest.fixture(scope="package")
def sandbox(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with running(sandbox_of(project_of(tmp_path_factory.mktemp("sandbox"), {})), brokers=3) as sandbox:
        yield sandbox


def settings(name: str, servers: list[str]) -> str:
    """Return the settings of a stack on a service; those that the cluster tells are not named."""
    profile = [] if name in RECOGNIZED else [f"  topicwarden:profile: {name}"]
    connection = [f"  kafka:bootstrapServers: [{', '.join(servers)}]", "  kafka:tlsEnabled: false"]
    return "\n".join(["config:", *connection, *profile]) + "\n"


@dataclass(frozen=True)
class OnService:
    """A project with two topics that is deployed to a service, and the addresses that the service advertises."""

    servers: list[str]
    stack: Deployment


@pytest.fixture(scope="package")
def on_service(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], OnService]]:
    """Return a function that deploys to the service with a name, once."""
    with ExitStack() as gates:

        @cache_of
        def deployed(name: str) -> OnService:
            servers = gates.enter_context(service_gate(sandbox.bootstrap_servers, SERVICES[name]))
            folder = tmp_path_factory.mktemp(name)
            project = project_of(folder / "project", topics(name), settings(name, servers))
            stack = Deployment(project, empty_stack(project, folder / "state"))
            stack.pulumi("up --yes --skip-preview --suppress-outputs")
            return OnService(servers, stack)

        yield deployed


def topics(name: str, **changes: str) -> dict[str, str]:
    """Return the YAML of the topics. ``changes`` are texts to replace."""
    common = "owner: o, replication_factor: 3, partitions: 2, allow: [shrink-retention]"
    files = {
        f"svc/{name}.orders.yaml": f"{{{common}, config: {{cleanup.policy: compact}}}}\n",
        f"svc/{name}.events.yaml": f"{{{common}, config: {{retention.ms: 7d, max.message.bytes: 2MiB}}}}\n",
    }
    for before, after in changes.items():
        files = {file: text.replace(before, after) for file, text in files.items()}
    return files
