"""Test the command `topicwarden doctor` where it contacts no cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import project, topicwarden
from tests.support.projects import project_of


def test_it_works_outside_of_a_project(tmp_path: Path) -> None:
    done = topicwarden("doctor", cwd=tmp_path)
    assert done.code in (0, 1)
    assert "Python" in done.out
    assert done.err == ""


def test_json_has_the_content_of_the_text(tmp_path: Path) -> None:
    report = json.loads(topicwarden("doctor", "--format", "json", "--command", "check", cwd=tmp_path).out)
    assert report["commands"] == [{"command": "check", "ability": "ready", "reasons": []}]
    assert report["stack"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "xml"], "there is no format 'xml'"),
        (["--command", "pln"], "did you mean plan?"),
        (["--stack", "prod"], "there is no stack 'prod'"),
    ],
)
def test_invalid_input_is_reported_in_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    root = project(tmp_path, {"topics/a.yaml": "partitions: 1\nreplication_factor: 1\n"})
    done = topicwarden("doctor", *arguments, cwd=root)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err


def test_an_unreachable_cluster_is_reported_in_one_line(tmp_path: Path) -> None:
    settings = "config: {'kafka:bootstrapServers': ['127.0.0.1:1'], 'kafka:tlsEnabled': false}\n"
    for number, files in enumerate(({}, {"a.yaml": "partitions: 1\nreplication_factor: 1\n"})):
        unreachable = project_of(tmp_path / f"{number}", files, settings)
        done = topicwarden("doctor", "--stack", "dev", cwd=unreachable.root)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith("topicwarden: no Kafka cluster answers at 127.0.0.1:1: nothing listens on this port")
