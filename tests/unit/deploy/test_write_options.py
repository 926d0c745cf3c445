"""Test the options of `topicwarden up`, by backend and number of topics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.write_options import backend_url, write_options
from topicwarden.model.project import Project


@pytest.mark.parametrize(
    ("backend", "topics", "once"),
    [
        ("file:///state", 100, False),
        ("file:///state", 101, True),
        ("s3://bucket", 5_000, True),
        ("https://api.pulumi.com", 5_000, False),
    ],
)
def test_many_topics_in_a_file_backend_are_recorded_once(backend: str, topics: int, once: bool) -> None:
    options = write_options("up", backend, topics, refresh="")
    assert options.arguments == ("--continue-on-error", "--parallel", "10000")
    assert ("PULUMI_SKIP_CHECKPOINTS" in options.variables) is once
    assert options.line == "all topics at a time; the state is written " + (
        "once, at the end" if once else "at each step"
    )


def test_a_killed_deploy_is_followed_by_a_refresh() -> None:
    options = write_options("up", "file:///state", 3, refresh="because a deploy was killed")
    assert "--refresh" in options.arguments
    assert options.line.endswith("state is refreshed, because a deploy was killed")


def test_a_refresh_on_request_is_named_as_such() -> None:
    assert write_options("up", "file:///state", 3, refresh="as requested").line.endswith(
        "state is refreshed, as requested"
    )


def test_the_backend_is_found_in_the_order_of_pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    engine = PulumiEngine(Project(tmp_path), "dev")
    settings = tmp_path / "Pulumi.yaml"
    settings.write_text("name: x\n")
    assert backend_url(engine) == "https://api.pulumi.com"
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "credentials.json").write_text(json.dumps({"current": "gs://logged-in"}))
    assert backend_url(engine) == "gs://logged-in"
    settings.write_text("name: x\nbackend: {url: s3://project}\n")
    assert backend_url(engine) == "s3://project"
    assert backend_url(PulumiEngine(Project(tmp_path), "dev", {"PULUMI_BACKEND_URL": "file:///own"})) == "file:///own"
