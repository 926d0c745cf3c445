"""Test that plan, deploy and audit do what is right on each managed or compatible service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache as cache_of
from typing import TypeAlias

import pytest
from pyspark.sql import SparkSession

from tests.engine.predictions.conftest import Deployment, of
from tests.support.projects import empty_stack, project_of
from tests.support.service_gate import DEFAULT, ON_TOPIC, Entries, Service, entry, service_gate
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.evidence import ApacheLog
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka_facts.configs import definition
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing

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


@pytest.fixture(scope="module", autouse=True)
def passphrase() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PULUMI_CONFIG_PASSPHRASE", "services")
        yield


def settings(name: str, servers: list[str]) -> str:
    """Return the settings of a stack on a service; those that the cluster tells are not named."""
    profile = [] if name in RECOGNIZED else [f"  topicwarden:profile: {name}"]
    connection = [f"  kafka:bootstrapServers: [{', '.join(servers)}]", "  kafka:tlsEnabled: false"]
    history = ["  topicwarden:history: history"]  # the cache is shared, and a history belongs to one cluster
    return "\n".join(["config:", *connection, *profile, *history]) + "\n"


@dataclass(frozen=True)
class OnService:
    """A project with two topics that is deployed to a service, and the addresses that the service advertises."""

    servers: list[str]
    stack: Deployment


@pytest.fixture(scope="module")
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


ServiceFixture: TypeAlias = Callable[[str], OnService]
each_service = pytest.mark.parametrize("name", SERVICES)
ON_LOG = {check for check, each in CHECKS.items() if issubclass(each.Required, ApacheLog)}


@pytest.mark.nightly(
    "The suite keeps two services; units hold the host names of all.", stays=("confluent-cloud", "redpanda")
)
@each_service
def test_the_service_is_detected_by_its_host_names(name: str, on_service: ServiceFixture) -> None:
    with open_cluster(Connection(tuple(on_service(name).servers), tls=False)) as cluster:
        recognized = cluster.service.name
    assert recognized == (name if name in ("confluent-cloud", "redpanda", "warpstream") else "apache")


@pytest.mark.nightly(
    "The suite keeps two services; units hold the profiles of all.", stays=("confluent-cloud", "redpanda")
)
@each_service
def test_a_deployed_topic_has_no_drift(name: str, on_service: ServiceFixture) -> None:
    stack = on_service(name).stack
    report = stack.plan()
    assert report.topics == []
    done = stack.shell.in_process("plan", "--stack", "dev", "--detailed-exitcode")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly(
    "The suite keeps two services; units hold the profiles of all.", stays=("confluent-cloud", "redpanda")
)
@each_service
def test_a_refresh_keeps_what_was_declared(name: str, on_service: ServiceFixture) -> None:
    stack = on_service(name).stack
    stack.pulumi("refresh --yes --skip-preview --suppress-outputs --expect-no-changes")
    assert stack.plan().topics == []


@pytest.mark.nightly(
    "The suite keeps each protocol; MSK and Aiven answer as Apache Kafka does, and units hold their profiles.",
    stays=("confluent-cloud", "redpanda", "warpstream", "event-hubs"),
)
@each_service
def test_an_audit_on_a_service_concludes_only_what_holds_there(
    name: str, on_service: ServiceFixture, sandbox: Sandbox, spark: SparkSession
) -> None:
    stack = on_service(name).stack
    with writing(sandbox.bootstrap_servers) as writer:
        for number in range(20):
            writer.send(f"{name}.orders", f"k{number % 5}", "v")
            writer.send(f"{name}.events", f"k{number}", "v")
    with auditing(stack.project, "dev") as audit:
        report = audit((f"{name}.*",))
    verdicts = {(finding.topic, finding.check): finding for finding in report.findings}
    assert {finding.check for finding in report.findings if finding.verdict is Verdict.FAIL} == set()
    assert verdicts[f"{name}.events", "config-drift"].verdict is Verdict.PASS
    judged = {key: finding for key, finding in verdicts.items() if finding.check in ON_LOG}
    assert {check for _, check in judged} >= {"retention-time", "retention-blocked", "compaction-ratio"}
    log = PROFILES[name].log
    if log.apache:
        assert not [finding for finding in judged.values() if "does not store" in finding.message]
    for finding in judged.values() if not log.apache else ():
        assert finding.verdict is Verdict.UNDECIDABLE, finding
        assert finding.because == [log.fact.text]
        assert finding.remedy == f"see {log.fact.source}"
    assert report.scanned_records == 40


@pytest.mark.nightly(
    "The suite keeps a service whose protocol differs, and one whose settings do.", stays=("warpstream", "redpanda")
)
@pytest.mark.parametrize("name", ["warpstream", "redpanda", "confluent-cloud"])
def test_settings_change_and_others_stay(name: str, on_service: ServiceFixture) -> None:
    """WarpStream has no IncrementalAlterConfigs: all settings are written. Redpanda shows a set default as not set."""
    servers, stack = on_service(name).servers, on_service(name).stack
    stack.write(topics(name, **{"retention.ms: 7d, max.message.bytes: 2MiB": "retention.ms: 9d"}))
    plan = of(stack.plan(), f"{name}.events")
    assert [setting.name for setting in plan.settings] == ["max.message.bytes", "retention.ms"]
    done = stack.pulumi("up --yes --skip-preview --suppress-outputs")
    assert "does not show the change yet" not in done
    with open_cluster(Connection(tuple(servers), tls=False)) as cluster:
        live = cluster.snapshot({f"{name}.events", f"{name}.orders"}).topics
    assert live[f"{name}.events"].own_config == {"retention.ms": str(9 * DAY)}
    assert live[f"{name}.orders"].own_config == {"cleanup.policy": "compact"}

    stack.write(topics(name))
    done = stack.pulumi("up --yes --skip-preview --suppress-outputs")
    assert "does not show the change yet" not in done
    assert stack.plan().topics == []


@pytest.mark.nightly("The suite keeps the service that reports each setting as set.", stays=("confluent-cloud",))
@pytest.mark.parametrize("name", ["redpanda", "confluent-cloud"])
def test_an_import_writes_explicit_settings(name: str, on_service: ServiceFixture, sandbox: Sandbox) -> None:
    stack = on_service(name).stack
    topic, day = f"{name}.found", {"retention.ms": str(DAY)}
    with connected(sandbox.bootstrap_servers) as admin:
        admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 3, "configs": day}})
    done = stack.shell.in_process("import", "--stack", "dev", "--files-only", "--dry-run", topic)
    assert done.returncode == 0, done.stdout + done.stderr
    written = [line.lstrip("+ ") for line in done.stdout.splitlines() if line.startswith("+  ")]
    assert written == ["retention.ms: 1d"]


@pytest.mark.parametrize("name", ["warpstream"])
def test_replicas_of_warpstream_cannot_be_moved(name: str, on_service: ServiceFixture) -> None:
    stack = on_service(name).stack
    done = stack.shell.in_process("rebalance", "--stack", "dev", "--dry-run")
    assert done.returncode == 2
    assert "WarpStream has no AlterPartitionReassignments: an object store keeps the records" in done.stderr
    assert "https://docs.warpstream.com/" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["msk-serverless"])
def test_a_cleanup_policy_that_the_service_fixes_is_refused(name: str, on_service: ServiceFixture) -> None:
    stack = on_service(name).stack
    stack.write(topics(name, **{"cleanup.policy: compact": "cleanup.policy: delete"}))
    try:
        consequence = next(
            each for each in of(stack.plan(), f"{name}.orders").consequences if each.kind == "fixed-policy"
        )
        assert consequence.message == (
            "cleanup.policy is compact and will be delete; MSK Serverless refuses this change of an existing topic"
        )
        assert "serverless-config.html" in stack.refused("preview")
    finally:
        stack.write(topics(name))
