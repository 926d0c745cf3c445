"""Test how `topicwarden watch` refuses bad input: one line, exit code 2, before it connects to anything."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.support.command import project, topicwarden
from topicwarden.extensions.watch.history_lock import history_lock, lock_path
from topicwarden.model.project import Project
from topicwarden.operations.operation_options import WatchOptions

TOPIC = {"topics/a.v1.yaml": "partitions: 1\nreplication_factor: 1\n"}
SERVER = "config: {'kafka:bootstrapServers': ['127.0.0.1:1'], 'kafka:tlsEnabled': false}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return project(tmp_path, {**TOPIC, "stacks/Pulumi.dev.yaml": SERVER})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--every", "0"), "--every: expected 1s to 7d"),
        (("--every", "500ms"), "--every: expected 1s to 7d"),
        (("--every", "8d"), "--every: expected 1s to 7d"),
        (("--every", "often"), "--every: expected a duration"),
        (("--listen", "0.0.0.0:9464"), "--token-file"),
        (("--listen", "somewhere"), "--listen: expected an IP address and a port"),
        (("--token-file", "missing"), "--token-file missing cannot be read"),
        (("--history", "none"), "a watch needs a history"),
        (("--rate", "fast"), "--rate"),
        (("--url", ""), '--url: expected a URL such as https://audits.example.com, got ""'),
        (("--url", "audits.example.com"), "--url: expected a URL such as https://audits.example.com, got"),
        (("--url", "javascript:alert(1)"), "--url: expected a URL such as https://audits.example.com, got"),
        (("--url", "https://audits.example.com\n/x"), "--url: expected a URL such as https://audits.example.com, got"),
        (("--url", "https://audits.example.com?x"), "--url: expected a URL without a query and a fragment"),
        (("--url", "https://me:s3cret@audits.example.com"), "--url: has a user, which everyone who is notified would"),
        (("--url", "me:s3cret@audits.example.com"), "--url: has a user, which everyone who is notified would"),
        (("--project", "/"), "no project"),
    ],
)
def test_bad_options_are_one_line(folder: Path, options: tuple[str, ...], message: str) -> None:
    done = topicwarden("watch", "--stack", "dev", *options, cwd=folder)
    assert (done.code, done.out) == (2, "")
    assert message in done.err and "s3cret" not in done.err
    assert done.err.count("\n") == 1


def test_an_unknown_stack_is_refused(folder: Path) -> None:
    done = topicwarden("watch", "--stack", "prod", cwd=folder)
    assert done.code == 2
    assert "no stack prod; stacks: " in done.err


def test_a_history_in_use_is_refused_before_anything_is_audited(folder: Path) -> None:
    history = folder / ".cache" / "history" / "dev"
    with history_lock(lock_path("", history, Project(folder).cache), "the other"):
        done = topicwarden("watch", "--stack", "dev", "--listen", "127.0.0.1:0", cwd=folder)
    assert done.code == 2
    assert "another watch uses the history" in done.err
    assert done.err.count("\n") == 1


def test_a_port_in_use_is_refused(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        done = topicwarden("watch", "--stack", "dev", "--listen", address, cwd=folder)
    assert done.code == 2
    assert f"cannot listen on {address}" in done.err


def test_the_default_interval_is_five_minutes_on_the_loopback_address() -> None:
    assert (WatchOptions().every, WatchOptions().listen) == (300, "127.0.0.1:9464")
