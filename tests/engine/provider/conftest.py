"""Fixtures: a cluster of one broker, and stacks whose provider can be exchanged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.projects import Shell, own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.toolchain import Toolchain, environment

PROGRAM = Path(__file__).with_name("every_type.py")


@pytest.fixture(scope="package")
def folder(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_cache(tmp_path_factory.mktemp("provider"), warm=True) as folder:
        yield folder


@pytest.fixture(scope="package")
def sandbox(folder: Path) -> Iterator[Sandbox]:
    overrides = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with running(sandbox_of(project_of(folder / "sandbox", {})), brokers=1, overrides=overrides) as sandbox:
        yield sandbox


@dataclass(frozen=True)
class ExchangeableStack:
    """A stack of the program ``every_type``, whose topics begin with ``prefix``."""

    shell: Shell

    def use(self, provider: str) -> None:
        """Run ``own`` or the ``official`` provider from now on."""
        path = self.shell.folder / "Pulumi.yaml"
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
        settings.pop("plugins", None)
        if provider == "own":
            settings["plugins"] = {"providers": [{"name": "kafka", "path": ".venv/bin"}]}
        path.write_text(yaml.safe_dump(settings), encoding="utf-8")

    def pulumi(self, command: str) -> str:
        done = self.shell.run("pulumi", *command.split(), "--non-interactive")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def state(self) -> str:
        """Return the state as the backend has it, with encrypted secrets."""
        return self.pulumi("stack export")

    def resources(self) -> dict[str, dict[str, Any]]:
        """Return inputs, outputs and options of each resource, by name; secrets are opened."""
        deployment = json.loads(self.pulumi("stack export --show-secrets"))["deployment"]
        return {
            resource["urn"].rpartition("::")[2]: {key: resource.get(key) for key in _COMPARED}
            for resource in deployment.get("resources") or ()
            if resource["type"].startswith("kafka:")
        }


_COMPARED = ("type", "id", "inputs", "outputs", "protect", "ignoreChanges", "additionalSecretOutputs", "custom")


@pytest.fixture
def stack(sandbox: Sandbox, tmp_path: Path) -> ExchangeableStack:
    project = project_of(tmp_path / "project", {})
    (project.stacks / "__main__.py").write_text(PROGRAM.read_text(encoding="utf-8"), encoding="utf-8")
    state = tmp_path / "state"
    state.mkdir()
    prefix = "".join(character for character in tmp_path.name if character.isalnum())
    variables = {
        **environment(project, "dev"),
        "PULUMI_BACKEND_URL": state.as_uri(),
        "TEST_SERVERS": ",".join(sandbox.bootstrap_servers),
        "TEST_PREFIX": prefix,
    }
    stack = ExchangeableStack(Shell(project.root, variables))
    stack.pulumi("stack init dev")
    return stack
