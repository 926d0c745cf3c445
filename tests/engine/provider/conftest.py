"""Fixtures: a cluster of one broker, and stacks whose provider can be exchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.provider.access_stack import AccessStack
from tests.support.projects import Shell, empty_stack, own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.toolchain import Toolchain, environment


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


@dataclass
class ExchangeableStack:
    """A stack of one of the programs in this folder, whose topics have a prefix of their own."""

    shell: Shell

    def use(self, provider: str) -> None:
        """Run ``own`` or the ``official`` provider from now on."""
        path = self.shell.folder / "Pulumi.yaml"
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
        settings.pop("plugins", None)
        if provider == "own":
            settings["plugins"] = {"providers": [{"name": "kafka", "path": ".venv/bin"}]}
        path.write_text(yaml.safe_dump(settings), encoding="utf-8")

    def register(self, way: str) -> None:
        """Register topics in the way ``lean`` or ``sdk`` from now on, if the program knows both."""
        self.shell = replace(self.shell, variables={**self.shell.variables, "TEST_REGISTRATION": way})

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

    def everything(self) -> list[dict[str, Any]]:
        """Return all that the state records of each resource, but times, random ids and the line of the program."""
        deployment = json.loads(_UUID.sub("an id", self.pulumi("stack export --show-secrets")))["deployment"]
        resources = deployment.get("resources") or ()
        return sorted(
            ({key: value for key, value in each.items() if key not in _PASSING} for each in resources),
            key=lambda resource: resource["urn"],
        )


_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PASSING = ("created", "modified", "sourcePosition", "stackTrace")
_COMPARED = ("type", "id", "inputs", "outputs", "protect", "ignoreChanges", "additionalSecretOutputs", "custom")


@pytest.fixture
def stack(request: pytest.FixtureRequest, sandbox: Sandbox, tmp_path: Path) -> ExchangeableStack:
    """Return an empty stack of the program that the test names as its parameter, or else of ``every_type.py``."""
    project = project_of(tmp_path / "project", {})
    program = Path(__file__).with_name(getattr(request, "param", "every_type.py"))
    folder = project.root / "program"  # not stacks/, because this is no program of topicwarden
    folder.mkdir()
    (folder / "__main__.py").write_text(program.read_text(encoding="utf-8"), encoding="utf-8")
    path = project.root / "Pulumi.yaml"
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump({**settings, "main": f"{folder.name}/"}), encoding="utf-8")
    state = tmp_path / "state"
    state.mkdir()
    prefix = "".join(character for character in tmp_path.name if character.isalnum())
    variables = {
        **environment(project, "dev"),
        "PULUMI_BACKEND_URL": state.as_uri(),
        "TEST_SERVERS": ",".join(sandbox.bootstrap_servers),
        "TEST_PREFIX": prefix,
        "TEST_REGISTRATION": "lean",
    }
    stack = ExchangeableStack(Shell(project.root, variables))
    stack.pulumi("stack init dev")
    return stack


@pytest.fixture
def access_stack(sandbox: Sandbox, folder: Path, request: pytest.FixtureRequest) -> AccessStack:
    name = "x" + "".join(character for character in request.node.name if character.isalnum())[-12:].lower()
    project = project_of(folder / f"access-{name}", {})
    return AccessStack(project, empty_stack(project, folder / f"state-{name}"), name)
