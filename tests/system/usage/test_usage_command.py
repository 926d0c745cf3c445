"""Try to break `topicwarden usage`: other folders, missing permissions, hostile names, many topics, and bad moments."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka.admin import NewTopic
from rich.text import Text

from tests.support.clients import commit
from tests.support.command import COMMAND, topicwarden
from tests.support.hostile_texts import HOSTILE, commands, forbidden
from tests.support.projects import own_cache, project_of
from tests.support.restricted_user import RestrictedCluster, restricted_cluster
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.project import Project
from topicwarden.model.usage_report import UsageReport
from topicwarden.toolchain import Toolchain
from topicwarden.usage.use_history import UseHistory

TOPICS = 300
TOPIC = "orders.v1"
_AT_ONCE = 150
_KILLS = int(os.environ.get("TOPICWARDEN_KILLS", "1"))
_DEADLINE_S = 300
_DECLARED = "partitions: 1\nreplication_factor: 1\naccess: {consume: [{principal: 'User:billing', group: billing}]}\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_cache(tmp_path_factory.mktemp("usage-command")) as folder:
        yield folder


@pytest.fixture(scope="module")
def sandbox(folder: Path, tools: Toolchain) -> Sandbox:
    return Sandbox(folder / "broker", tools.java, tools.kafka_jars)


@pytest.fixture(scope="module")
def cluster(sandbox: Sandbox) -> Iterator[RestrictedCluster]:
    """A broker with many topics, and groups with every name that a client may choose."""
    with restricted_cluster(sandbox, 1) as cluster:
        names = [TOPIC, *(f"t{number:04}.a-rather-long-name-of-a-topic.v1" for number in range(TOPICS - 1))]
        with connected(cluster.servers) as admin:
            for first in range(0, TOPICS, _AT_ONCE):
                admin.create_topics([NewTopic(name, 1, 1) for name in names[first : first + _AT_ONCE]])
        for number, text in enumerate(HOSTILE):
            commit(cluster.servers, f"g{number}{text}".replace("\x00", ""), {(TOPIC, 0): 0})
        yield cluster


@pytest.fixture
def project(cluster: RestrictedCluster, tmp_path: Path) -> Project:
    settings = f"config: {{'kafka:bootstrapServers': [{cluster.servers[0]}], 'kafka:tlsEnabled': false}}\n"
    return project_of(tmp_path / "project", {f"{TOPIC}.yaml": _DECLARED}, settings)


def test_the_report_of_many_topics_fits_a_narrow_terminal(project: Project) -> None:
    terminal = {"COLUMNS": "80", "TERM": "xterm", "FORCE_COLOR": "1"}
    done = topicwarden("usage", "--stack", "dev", cwd=project.root, **terminal)
    assert done.code == 0, done.err
    lines = [Text.from_ansi(line).cell_len for line in done.out.splitlines()]
    assert max(lines) <= 80
    assert len(lines) < TOPICS  # a summary; the files have all topics
    report = topicwarden("usage", "--stack", "dev", "--format", "json", cwd=project.root)
    topics = UsageReport.model_validate(json.loads(report.out)).topics
    assert len([each for each in topics if each.name.endswith(".v1")]) == TOPICS


def test_names_of_groups_are_shown_as_text(project: Project, tmp_path: Path) -> None:
    done = topicwarden("usage", "--stack", "dev", "--topics", TOPIC, "--out", tmp_path / "out", cwd=project.root)
    assert done.code == 0, done.err
    texts = {"text": done.out + done.err}
    texts |= {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir()}
    assert len(texts) == 5
    for name, text in texts.items():
        assert forbidden(text) == set(), name
        if name in ("text", "usage.md"):
            assert commands(text) == [], name
    for attack in ("<script>alert", "<img src=x"):
        assert attack not in texts["usage.html"]
        assert attack not in texts["usage.md"]
    written = topicwarden("usage", "--stack", "dev", "--topics", TOPIC, "--write", "--dry-run", cwd=project.root)
    assert written.code in (0, 1), written.err
    assert forbidden(written.out + written.err) == set()
    assert commands(written.out + written.err) == []


def test_it_runs_from_any_folder_of_the_project_and_nowhere_else(project: Project, tmp_path: Path) -> None:
    inside = topicwarden("usage", "--stack", "dev", "--topics", TOPIC, cwd=project.topics)
    assert inside.code == 0, inside.err
    outside = topicwarden("usage", "--stack", "dev", cwd=tmp_path)
    assert (outside.code, outside.out, outside.err.count("\n")) == (2, "", 1)


def test_a_user_without_permissions_gets_reasons_and_no_claims(cluster: RestrictedCluster, project: Project) -> None:
    (project.root / "stacks" / "Pulumi.dev.yaml").write_text(cluster.settings, encoding="utf-8")
    done = topicwarden("usage", "--stack", "dev", "--format", "json", cwd=project.root)
    assert done.code in (0, 2), done.err
    assert "Traceback" not in done.out + done.err
    if done.code == 0:
        report = UsageReport.model_validate(json.loads(done.out))
        assert report.undeclared == []
        assert report.removable == []
        assert report.notes


def test_a_frozen_broker_ends_the_command_with_one_line(
    cluster: RestrictedCluster, sandbox: Sandbox, project: Project
) -> None:
    (broker,) = sandbox.status().brokers
    assert broker.pid
    os.kill(broker.pid, signal.SIGSTOP)
    try:
        done = subprocess.run(
            [COMMAND, "usage", "--stack", "dev"],
            cwd=project.root,
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
            check=False,
        )
    finally:
        os.kill(broker.pid, signal.SIGCONT)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    lines = [line for line in done.stderr.splitlines() if not re.search(r": \d+ s$", line)]
    assert len(lines) == 1, done.stderr


def test_killed_and_concurrent_runs_lose_no_observation(
    cluster: RestrictedCluster, project: Project, tmp_path: Path
) -> None:
    history = ("--history", str(tmp_path / "history"))
    commit(cluster.servers, "nightly", {(TOPIC, 0): 0})
    first = _report(project, *history)
    command: list[str | Path] = [COMMAND, "usage", "--stack", "dev", "--topics", TOPIC, "--format", "json", *history]
    began = time.monotonic()
    runs = [subprocess.Popen(command, cwd=project.root, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [run.communicate(timeout=_DEADLINE_S)[0] for run in runs]
    seconds = time.monotonic() - began
    assert [run.returncode for run in runs] == [0, 0]
    for kill in range(_KILLS):  # most of them near the end, when it saves
        with subprocess.Popen(command, cwd=project.root, stdout=subprocess.PIPE, text=True) as run:
            try:
                run.communicate(timeout=seconds * (0.5 + 0.4 * kill / _KILLS))
            except subprocess.TimeoutExpired:
                run.kill()
    last = _report(project, *history)
    observed = [UsageReport.model_validate(json.loads(output)).taken_at for output in outputs]
    assert not any("damaged" in note or "first observation" in note for note in last.notes)
    (topic,) = last.topics
    (nightly,) = (reader for reader in topic.readers if reader.name == "nightly")
    assert nightly.last is None or nightly.last.until <= max(first.taken_at, *observed)
    assert _observed_since(tmp_path / "history") == first.taken_at


def _report(project: Project, *options: str) -> UsageReport:
    done = topicwarden("usage", "--stack", "dev", "--topics", TOPIC, "--format", "json", *options, cwd=project.root)
    assert done.code == 0, done.err
    return UsageReport.model_validate(json.loads(done.out))


def _observed_since(history: Path) -> int:
    (marker,) = history.rglob("_complete")
    records = UseHistory(str(history)).load(json.loads(marker.read_text(encoding="utf-8"))["cluster"])
    return next(record.observed_since for record in records.topics.values() if record.topic == TOPIC)
