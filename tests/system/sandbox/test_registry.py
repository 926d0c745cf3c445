"""Test the Schema Registry of the sandbox, with a real Apicurio."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.conftest import REPOSITORY
from tests.support.projects import project_of
from topicwarden.extensions.sandbox.registry_server import RegistryServer
from topicwarden.kafka.connect.stack_connection import on_sandbox_registry, registry_of
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.toolchain import apicurio

_SETTINGS = "config: {'topicwarden:cluster': sandbox, 'topicwarden:schemaRegistry': sandbox}\n"


def test_it_keeps_its_schemas_until_it_is_removed(
    registry_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java, app = registry_java, apicurio.fetch(Project(REPOSITORY).tools_cache, print)
    monkeypatch.setenv("TOPICWARDEN_CACHE", str(tmp_path / "cache"))
    project = project_of(tmp_path / "project", {}, _SETTINGS)
    assert on_sandbox_registry(project, "dev")
    with pytest.raises(Refusal, match="run `topicwarden sandbox up`"):
        registry_of(project, "dev")
    server = RegistryServer(project.cache / "sandbox")
    try:
        url = server.up(java, app, print)
        registry = registry_of(project, "dev")
        assert registry is not None
        assert registry.url == url == server.url
        assert server.up(java, app, print) == url
        body = json.dumps({"schema": '"string"'}).encode()
        with urlopen(Request(f"{url}/subjects/kept/versions", body, {"Content-Type": "application/json"})):
            server.down(remove=False, say=print)
        assert server.url is None
        assert server.up(java, app, print) == url
        with urlopen(f"{url}/subjects") as answer:
            assert json.load(answer) == ["kept"]
    finally:
        server.down(remove=True, say=print)
    assert [file.name for file in (project.cache / "sandbox").iterdir()] == []


def test_it_reports_why_it_does_not_start(registry_java: Path, tmp_path: Path) -> None:
    server = RegistryServer(tmp_path)
    with pytest.raises(Refusal, match=r"the Schema Registry died: .*quarkus-run\.jar"):
        server.up(registry_java, tmp_path / "nowhere", print)
