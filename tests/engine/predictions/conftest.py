"""Fixtures: a real cluster of three brokers, a project whose topics the real engine changes, and an edited state."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.projects import Shell, empty_stack, own_cache, project_of, write_topics
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.deploy.program_run import ProgramRun
from topicwarden.deploy.pulumi_commands import pulumi_up
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.write_options import backend_url, write_options
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios import log_cleaner
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import Cluster, open_cluster
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
        log_cleaner.speed_up(sandbox.bootstrap_servers)
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
        """Deploy as `topicwarden up` does: the program and the provider run in this process, which saves two others."""
        with self.engine() as engine:
            options = write_options("up", backend_url(engine), resources=0)
            done = pulumi_up(ProgramRun(engine), options, "--suppress-outputs")
        assert done.returncode == 0, done.stdout + done.stderr

    def plan(self, *patterns: str) -> PlanReport:
        """Return the plan for the topics that match ``patterns``."""
        with self.engine() as engine:
            return planned(engine, patterns)

    @contextmanager
    def engine(self) -> Iterator[PulumiEngine]:
        """Yield the engine, and set the variables of the shell in this process within the block."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.shell.variables.items():
                patch.setenv(name, value)
            yield engine_of(self.project, "dev")


def deployment(folder: Path, files: dict[str, str]) -> Deployment:
    """Create a project from ``files`` and deploy it."""
    project = project_of(folder, files)
    deployed = Deployment(project, empty_stack(project, folder / "state"))
    if files:
        deployed.up()
    return deployed


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


def state(current: Deployment) -> dict[str, Any]:
    exported: dict[str, Any] = json.loads(current.pulumi("stack export"))
    return exported


def edited(current: Deployment, edit: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the resources of the state by hand."""
    exported = state(current)
    edit(exported["deployment"]["resources"])
    file = current.project.root / "edited.json"
    file.write_text(json.dumps(exported))
    current.pulumi(f"stack import --file {file}")
