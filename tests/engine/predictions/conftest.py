"""Fixtures: a real cluster of three brokers, a project whose topics the real engine changes, and an edited state."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import NewTopic

from tests.support.projects import Shell, empty_stack, own_cache, project_of, write_topics
from tests.support.sandboxes import running
from tests.support.stack_state import resources_in_state, write_resources
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.deploy.program_run import ProgramRun
from topicwarden.deploy.pulumi_commands import pulumi_up
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.write_options import backend_url, write_options
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios import compaction
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.kafka.read.topic_reads import TopicProperties, wait_until_visible
from topicwarden.kafka_facts.services import APACHE
from topicwarden.kinds.topic.resource import DOMAIN_TYPE, SET_TYPE
from topicwarden.model.planned_change import Consequence, PlanReport, TopicPlan
from topicwarden.model.project import Project
from topicwarden.operations.find_pulumi import engine_of
from topicwarden.operations.plan import planned
from topicwarden.toolchain import Toolchain

RETENTION_CHECK_S = 1.0
_QUICK = {
    "log.retention.check.interval.ms": f"{RETENTION_CHECK_S * 1000:.0f}",
    "log.initial.task.delay.ms": "500",
    "broker.session.timeout.ms": "6000",
}


@pytest.fixture(scope="package")
def cache(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The cache that all projects of this package share."""
    with own_cache(tmp_path_factory.mktemp("predictions"), warm=True) as folder:
        yield folder


@pytest.fixture(scope="package")
def sandbox(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    sandbox = sandbox_of(project_of(tmp_path_factory.mktemp("sandbox"), {}))
    with running(sandbox, brokers=3, overrides=_QUICK):
        compaction.speed_up(sandbox.bootstrap_servers)
        yield sandbox


@pytest.fixture(scope="package")
def servers(sandbox: Sandbox) -> list[str]:
    return sandbox.bootstrap_servers


@dataclass(frozen=True)
class Deployment:
    """A project on the cluster with its own Pulumi state."""

    project: Project
    shell: Shell

    def write(self, files: dict[str, str]) -> None:
        write_topics(self.project, files)

    def remove(self, file: str) -> None:
        (self.project.topics / file).unlink()

    def pulumi(self, command: str) -> str:
        """Run a Pulumi command that must succeed; return its output."""
        done = self.shell.run("pulumi", *command.split(), "--non-interactive")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def refused(self, command: str) -> str:
        """Run a Pulumi command that must fail; return its output."""
        done = self.shell.run("pulumi", *command.split(), "--non-interactive")
        assert done.returncode != 0, done.stdout
        assert "Traceback" not in done.stdout + done.stderr
        return done.stdout

    def up(self) -> None:
        """Deploy as `topicwarden up` does after its plan."""
        deploy_in_process(self.project, self.shell)

    def plan(self, *patterns: str) -> PlanReport:
        """Return the plan for the topics that match ``patterns``."""
        with self.engine() as engine:
            return planned(engine, patterns)

    def engine(self) -> AbstractContextManager[PulumiEngine]:
        """Return a context with the engine, in which this process has the variables of the shell."""
        return engine_in_process(self.project, self.shell)


def deployment(folder: Path, files: dict[str, str]) -> Deployment:
    """Create a project from ``files`` and deploy it.

    The state of the first deployment of ``files`` is kept. Later ones copy the state, and create the topics in it
    with the Admin API.
    """
    project, state = project_of(folder, files), folder / "state"
    deployed = Deployment(project, empty_stack(project, state))
    if not files:
        return deployed
    kept = project.cache / "deployed" / hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    if kept.exists():
        shutil.rmtree(state)
        shutil.copytree(kept, state)
        create_topics(deployed)
    else:
        deployed.up()
        shutil.copytree(state, kept)
    return deployed


def create_topics(deployed: Deployment) -> None:
    """Create the topics in the state, as the deploy that wrote it created them. Fails if a topic exists."""
    inputs = [each["inputs"] for each in resources_in_state(deployed.shell) if each["type"] == TOPIC]
    topics = {
        topic["name"]: TopicProperties(topic["partitions"], topic["replicationFactor"], topic.get("config") or {})
        for topic in inputs
    }
    with connected(sandbox_of(deployed.project).bootstrap_servers) as admin:
        admin.create_topics(
            [
                NewTopic(name, topic.partitions, topic.replication_factor, topic_configs=dict(topic.config))
                for name, topic in topics.items()
            ]
        )
        wait_until_visible(admin, topics, APACHE)


@pytest.fixture
def cluster(sandbox: Sandbox, tmp_path: Path) -> Iterator[Cluster]:
    with open_cluster(connect_to(project_of(tmp_path / "looking", {}), "dev")) as cluster:
        yield cluster


def of(report: PlanReport, topic: str) -> TopicPlan:
    return next(plan for plan in report.topics if plan.topic == topic)


def one(report: PlanReport, topic: str, kind: str) -> Consequence:
    """Return the only consequence of this kind for a topic."""
    found = [consequence for consequence in of(report, topic).consequences if consequence.kind == kind]
    assert len(found) == 1, of(report, topic)
    return found[0]


def day(distance: int) -> str:
    return (datetime.now(UTC) + timedelta(days=distance)).date().isoformat()


# The state of a stack: change it by hand, as a person or a crash may have done.

TOPIC = "kafka:index/topic:Topic"
STACK = "urn:pulumi:dev::topicwarden"
PROVIDER = f"{STACK}::pulumi:providers:kafka::sandbox"
REGISTERED = f"{STACK}::{SET_TYPE}${DOMAIN_TYPE}${TOPIC}::held.v1"


def imported(current: Deployment, resource: str, topic: str) -> str:
    """Import ``topic`` as a second resource, unprotected; return its URN."""
    options = f"--protect=false --yes --generate-code=false --provider sandbox={PROVIDER}"
    current.pulumi(f"import {TOPIC} {resource} {topic} {options}")
    return f"{STACK}::{TOPIC}::{resource}"


def edited(current: Deployment, edit: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the resources of the state by hand."""
    resources = resources_in_state(current.shell)
    edit(resources)
    write_resources(current.shell, resources)


@contextmanager
def engine_in_process(project: Project, shell: Shell) -> Iterator[PulumiEngine]:
    """Yield the engine of the stack ``dev``, and set the variables of ``shell`` in this process within the block."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in shell.variables.items():
            patch.setenv(name, value)
        yield engine_of(project, "dev")


def deploy_in_process(project: Project, shell: Shell) -> None:
    """Deploy the stack ``dev`` as `topicwarden up` does after its plan.

    The program and the provider run in this process, which saves two others. The plan is a run of the engine less.
    """
    with engine_in_process(project, shell) as engine:
        options = write_options("up", backend_url(engine), resources=0)
        done = pulumi_up(ProgramRun(engine), options, "--suppress-outputs")
    assert done.returncode == 0, done.stdout + done.stderr
