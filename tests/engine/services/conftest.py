"""Fixtures: three real brokers, and for each service a stand-in in front of them with a project of its own.

A stand-in gives the answers of the service that differ from those of Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache as cache_of
from pathlib import Path

import pytest

from tests.engine.predictions.conftest import Deployment
from tests.support.projects import empty_stack, own_cache, project_of
from tests.support.sandboxes import running
from tests.support.service_gate import DEFAULT, ON_TOPIC, Entries, Service, entry, service_gate
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.kafka_facts.configs import definition
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.toolchain import Toolchain

ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS, LIST_OFFSETS = 33, 44, 2
_KAFKA_REQUESTS = frozenset(range(100))
_OF_WARPSTREAM = frozenset(
    {*range(4), *range(8, 21), 22, *range(24, 27), *range(28, 34), 36, 37, 42, 47, 60, 65, 66},
)
"""The requests in WarpStream's list of supported messages, and those of SASL."""
_IGNORED_BY_REDPANDA = PROFILES["redpanda"].unsupported[0].names


def redpanda(settings: Entries) -> Entries:
    """Report a setting that has Kafka's default as not set, and settings of Redpanda's own; leave out ignored ones."""
    known = [each for each in settings if each.name not in _IGNORED_BY_REDPANDA]
    for each in known:
        setting = definition(each.name)
        if setting and each.value == setting.default:
            each.config_source = DEFAULT
    return [*known, entry("redpanda.remote.read", "true", ON_TOPIC), entry("write.caching", "true", ON_TOPIC)]


def confluent_cloud(settings: Entries) -> Entries:
    """Report every setting as set on the topic, with the service's own defaults, and one of Confluent's own."""
    defaults = PROFILES["confluent-cloud"].defaults
    assert defaults
    for each in settings:
        if each.config_source != ON_TOPIC:
            each.value = defaults.values.get(each.name, _default(each.name, each.value))
            each.config_source = ON_TOPIC
    return [*settings, entry("confluent.value.schema.validation", "false", ON_TOPIC)]


def _default(name: str, value: str) -> str:
    setting = definition(name)
    return setting.default if setting and setting.default is not None else value


SERVICES = {
    "apache": Service(),
    "msk": Service(),
    "msk-express": Service(),
    "msk-serverless": Service(hides_brokers=True),
    "confluent-cloud": Service("lkc-abc123", topic_settings=confluent_cloud, hides_brokers=True),
    "redpanda": Service("redpanda.2bd3a7a0-0000-4000-8000-8b9a5a2c3d4e", topic_settings=redpanda),
    "aiven": Service(),
    "warpstream": Service(lacks=_KAFKA_REQUESTS - _OF_WARPSTREAM),
    "event-hubs": Service(lacks=frozenset({35, 45, 46}), latest={LIST_OFFSETS: 6}, hides_brokers=True),
}
"""By the name of the profile. Those that a cluster does not tell apart must be named in the stack's settings."""
RECOGNIZED = ("apache", "confluent-cloud", "redpanda", "warpstream")


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
