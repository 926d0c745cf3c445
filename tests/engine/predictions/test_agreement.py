"""Test that `plan`, `pulumi preview` and `pulumi up` refuse the same changes.

Edits of the YAML and operations on Pulumi's state are random. ``TOPICWARDEN_AGREEMENTS`` is the number of rounds.
``TOPICWARDEN_SEED`` repeats a run.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.engine.predictions.conftest import STACK, TOPIC, Deployment, deployment, imported
from tests.support.documents import block
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.write.config_admin import set_topic
from topicwarden.kinds.topic.resource import DOMAIN_TYPE, SET_TYPE

# Test that `plan`, `pulumi preview` and `pulumi up` refuse the same changes.

ROUNDS = int(os.environ.get("TOPICWARDEN_AGREEMENTS", "1"))
SEED = int(os.environ.get("TOPICWARDEN_SEED", "20261122"))
DAY_MS = 86_400_000
NAMES = ("agree.a", "agree.b")


@dataclass(frozen=True)
class Declared:
    """The YAML of one topic. None instead of an instance means that the topic is not declared."""

    partitions: int = 2
    days: int = 30
    allow: tuple[str, ...] = ()

    def __str__(self) -> str:
        config = f"{{retention.ms: {self.days}d, segment.ms: 1h}}"
        counts = f"partitions: {self.partitions}, replication_factor: 2"
        return f"{{owner: team, {counts}, config: {config}, allow: [{', '.join(self.allow)}]}}\n"


def drawn(chance: random.Random, declared: Declared | None) -> Declared | None:
    """Return another random declaration of a topic."""
    if declared is None:
        return Declared()
    return chance.choice(
        [
            None,
            None,
            replace(declared, partitions=max(1, declared.partitions - 1)),
            replace(declared, partitions=declared.partitions + 1),
            replace(declared, days=chance.choice([5, 40])),
            replace(
                declared, allow=tuple(chance.sample(["delete", "recreate", "shrink-retention"], chance.randint(0, 2)))
            ),
        ]
    )


OPERATIONS = ("nothing", "unprotect", "protect", "forget", "refresh", "alias", "by hand")


def operate(operation: str, name: str, chance: random.Random, agree: Deployment, servers: list[str]) -> None:
    """Change Pulumi's state, or change a topic without Pulumi."""
    urn = f"{STACK}::{SET_TYPE}${DOMAIN_TYPE}${TOPIC}::{name}"
    match operation:
        case "unprotect" | "protect":
            agree.pulumi(f"state {operation} --all --yes")
        case "forget":
            agree.shell.run("pulumi", "state", "delete", "--force", "--yes", urn, "--non-interactive")
        case "refresh":
            agree.pulumi("refresh --yes --skip-preview")
        case "alias":
            imported(agree, "alias", name)
        case "by hand":
            set_topic(servers, name, {"retention.ms": str(chance.choice([8, 60]) * DAY_MS)})


@pytest.fixture
def agree(sandbox: Sandbox, servers: list[str], tmp_path: Path) -> Iterator[Deployment]:
    """Two topics with week-old records, and one topic that is never edited."""
    files = {f"agree/{name}.yaml": str(Declared()) for name in (*NAMES, "agree.kept")}
    agree = deployment(tmp_path / "agree", files)
    with writing(servers) as writer:
        for name in NAMES:
            for number in range(10):
                writer.send(name, f"k{number}", "v", int(time.time() * 1000) - 7 * DAY_MS)
    yield agree
    with connected(servers) as admin:
        admin.delete_topics([name for name in admin.list_topics() if name.startswith("agree.")])


def test_plan_preview_and_up_refuse_the_same(
    agree: Deployment, cluster: Cluster, servers: list[str], tmp_path: Path
) -> None:
    print(f"TOPICWARDEN_AGREEMENTS={ROUNDS} TOPICWARDEN_SEED={SEED}")
    accepted: dict[str, Declared | None] = dict.fromkeys(NAMES, Declared())
    for number in range(ROUNDS):
        chance = random.Random(f"{SEED}/{number}")
        name, operation = chance.choice(NAMES), chance.choice(OPERATIONS)
        after = drawn(chance, accepted[name])
        if number == 0:  # a case in which the commands disagreed earlier
            name, operation, after = NAMES[0], "unprotect", None
        declared = {**accepted, name: after}
        write(agree, declared)
        live = sorted(topic for topic in cluster.snapshot().topics if topic in NAMES) or ["agree.kept"]
        operate(operation, chance.choice(live), chance, agree, servers)
        round_ = f"round {number}: {operation}; {name}: {accepted[name]} becomes {after}".replace("\n", "")
        plan = agree.shell.in_process("plan", "--stack", "dev")
        ran = [
            agree.shell.run("pulumi", *command.split(), "--non-interactive")
            for command in ("preview", "up --yes --skip-preview --suppress-outputs")
        ]
        codes = [done.returncode != 0 for done in (plan, *ran)]
        print(f"{round_}: {'refused' if codes[0] else 'deployed'}")
        assert len(set(codes)) == 1, "\n".join([round_, *(done.stdout + done.stderr for done in (plan, *ran))])
        if codes[0]:
            write(agree, accepted)
            agree.shell.run("pulumi", "state", "delete", "--force", "--yes", f"{STACK}::{TOPIC}::alias")
        else:
            accepted = declared


def write(agree: Deployment, declared: dict[str, Declared | None]) -> None:
    for name, text in declared.items():
        if text is None:
            (agree.project.topics / f"agree/{name}.yaml").unlink(missing_ok=True)
        else:
            agree.write({f"agree/{name}.yaml": str(text)})


# Test that the plan task of the page on Python previews a real deploy.


def test_the_plan_task_of_the_page_returns_what_would_change_or_fails(
    servers: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    stack = deployment(tmp_path, {"page.v1.yaml": "{owner: team, partitions: 2, replication_factor: 1}"})
    for name, value in stack.shell.variables.items():
        monkeypatch.setenv(name, value)
    pending_changes, root = block("kafka_tasks").pending_changes, str(stack.project.root)
    stack.write({"more.v1.yaml": "{owner: team, partitions: 2, replication_factor: 1}"})
    capfd.readouterr()
    assert pending_changes(root, "dev") == ["more.v1"]
    assert capfd.readouterr() == ("", "")
    stack.write({"page.v1.yaml": "{owner: team, partitions: 1, replication_factor: 1}"})
    with pytest.raises(ValueError, match="refused"):
        pending_changes(root, "dev")
