"""Fixtures: one broker, the real Schema Registry of this process, and projects whose topics register schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.projects import Shell, empty_stack, own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.read import read_subject, registered_versions
from topicwarden.model.planned_change import PlanReport
from topicwarden.model.project import Project
from topicwarden.operations.find_pulumi import engine_of
from topicwarden.operations.plan import planned
from topicwarden.specs.stacks.registry_settings import RegistrySettings
from topicwarden.toolchain import Toolchain


@pytest.fixture(scope="package")
def folder(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_cache(tmp_path_factory.mktemp("subjects"), warm=True) as folder:
        yield folder


@pytest.fixture(scope="package")
def sandbox(folder: Path) -> Iterator[Sandbox]:
    with running(sandbox_of(project_of(folder / "sandbox", {})), brokers=1) as sandbox:
        yield sandbox


@dataclass
class SubjectStack:
    """A project of its own on the shared broker and registry; all its names begin with ``name``."""

    project: Project
    shell: Shell
    name: str
    client: RegistryClient

    def set_registry(self, setting: object, servers: list[str] | None = None) -> None:
        """Write the stack's settings, with this registry; ``servers`` are those of a cluster that is no sandbox.

        Then Pulumi's default provider is used.
        """
        cluster: dict[str, object] = {"topicwarden:cluster": "sandbox"}
        if servers:
            cluster = {"kafka:bootstrapServers": servers, "kafka:tlsEnabled": False}
        text = json.dumps({"config": {**cluster, "topicwarden:schemaRegistry": setting}})
        (self.project.stacks / "Pulumi.dev.yaml").write_text(text, encoding="utf-8")

    def write(self, files: Mapping[str, str]) -> None:
        """Write ``files`` by their paths, with ``name`` in place of NAME."""
        for path, text in files.items():
            file = self.project.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("NAME", self.name), encoding="utf-8")

    def declare(self, schema: Mapping[str, Any], registry: str = "{compatibility: BACKWARD}", more: str = "") -> None:
        """Declare one topic, with its schema, how it is registered, and more lines of YAML."""
        topic = (
            "{topic: NAME.orders, owner: team, partitions: 1, replication_factor: 1, contents: {value: "
            f"{{format: avro, schema: schemas/order.avsc, registry: {registry}}}}}{more}}}\n"
        )
        self.write({"topics/orders.yaml": topic, "topics/schemas/order.avsc": json.dumps(schema)})

    def up(self, *arguments: str) -> str:
        done = self.shell.in_process("up", "--stack", "dev", "--yes", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def refused(self, *command: str) -> str:
        """Run a command of topicwarden that must end with exit code 1; return its output."""
        done = self.shell.in_process(*(command or ("up", "--stack", "dev", "--yes")))
        assert done.returncode == 1, done.stdout + done.stderr
        assert "Traceback" not in done.stdout + done.stderr
        return done.stdout + done.stderr

    def pulumi(self, command: str) -> str:
        done = self.shell.run("pulumi", *command.split(), "--non-interactive")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def plan(self) -> PlanReport:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.shell.variables.items():
                patch.setenv(name, value)
            return planned(engine_of(self.project, "dev"))

    def versions(self, subject: str = "NAME.orders-value") -> list[tuple[int, int]]:
        """Return version and id of each version of a subject in the registry."""
        name = subject.replace("NAME", self.name)
        return [(each.version, each.id) for each in registered_versions(self.client, name)]

    def level(self, subject: str = "NAME.orders-value") -> str | None:
        level = read_subject(self.client, subject.replace("NAME", self.name)).compatibility
        return level.value if level else None

    def in_state(self) -> dict[str, dict[str, Any]]:
        """Return the outputs of each subject in Pulumi's state."""
        deployment = json.loads(self.pulumi("stack export"))["deployment"]
        return {
            each["id"]: each["outputs"]
            for each in deployment.get("resources") or ()
            if each["type"] == "kafka:index/subject:Subject"
        }


@pytest.fixture
def stack(sandbox: Sandbox, folder: Path, registry_url: str, request: pytest.FixtureRequest) -> Iterator[SubjectStack]:
    name = "s" + "".join(character for character in request.node.name if character.isalnum())[-14:].lower()
    name += f"x{repeated}" if (repeated := getattr(request.node, "execution_count", 1) - 1) else ""
    project = project_of(folder / name, {})
    with RegistryClient(RegistrySettings(registry_url)) as client:
        stack = SubjectStack(project, empty_stack(project, folder / f"state-{name}"), name, client)
        stack.set_registry(registry_url)
        yield stack
