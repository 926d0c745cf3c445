"""Test that deploys of access that are killed at a random moment converge with the next deploy.

``TOPICWARDEN_KILLS`` asks for more kills.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import yaml

from tests.engine.provider.access_stack import AccessStack
from tests.support.killed_deploys import PROCESSES, deployed_again, killed_up
from tests.support.stack_state import resources_in_state
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import open_cluster

KILLS = int(os.environ.get("TOPICWARDEN_KILLS", "1"))
SEED = os.environ.get("TOPICWARDEN_SEED", "20261129")
ENTRIES = {"acls": 40, "users": 6, "quotas": 20, "group_configs": 10, "client_metrics": 10}
PRESENT = 0.8
"""The share of the entries that a deploy declares."""

Drawn = dict[str, dict[str, Any]]
"""The drawn value of each entry, by kind and name."""


def draw(chance: random.Random, name: str) -> Drawn:
    """Return about four fifths of the entries of each kind, each with a random value."""
    values: Mapping[str, Callable[[], int | str]] = {
        "acls": lambda: chance.choice(["Describe", "Read", "Write"]),
        "users": lambda: chance.randint(4096, 9000),
        "quotas": lambda: chance.randint(1, 1_000_000),
        "group_configs": lambda: chance.randint(45_000, 60_000),
        "client_metrics": lambda: chance.randint(100, 3_600_000),
    }
    return {
        kind: {f"{name}-{number}": values[kind]() for number in range(most) if chance.random() < PRESENT}
        for kind, most in ENTRIES.items()
    }


def declaration(drawn: Drawn) -> str:
    """Return the file of access that declares what was drawn."""
    entries: dict[str, Any] = {
        "allow": ["remove-credential"],
        "acls": [
            {"principal": f"User:{name}", "operations": [operation], "resource": "Topic", "name": name}
            for name, operation in drawn["acls"].items()
        ],
        "users": {
            name: {"mechanism": "SCRAM-SHA-256", "iterations": iterations, "password": {"secret": "app", "version": 1}}
            for name, iterations in drawn["users"].items()
        },
        "quotas": [{"user": name, "producer_byte_rate": rate} for name, rate in drawn["quotas"].items()],
        "group_configs": {
            name: {"consumer.session.timeout.ms": timeout} for name, timeout in drawn["group_configs"].items()
        },
        "client_metrics": {name: {"interval.ms": interval} for name, interval in drawn["client_metrics"].items()},
    }
    return yaml.safe_dump(entries)


def on_the_cluster(stack: AccessStack) -> Drawn:
    """Return what the broker reports of the entries of this stack, as ``draw`` writes it."""
    groups = [f"{stack.name}-{number}" for number in range(ENTRIES["group_configs"])]
    with open_cluster(connect_to(stack.project, "dev")) as cluster:
        live = cluster.access(groups)
    own = f"{stack.name}-"
    users: Mapping[Any, Any] = live.users or {}
    quotas: Mapping[Any, Any] = live.quotas or {}
    configs: Mapping[Any, Any] = live.group_configs or {}
    metrics: Mapping[Any, Any] = live.client_metrics or {}
    return {
        "acls": {
            each.resource_name: each.operation.value for each in live.acls or () if each.resource_name.startswith(own)
        },
        "users": {key[0]: user.iterations for key, user in users.items() if key[0].startswith(own)},
        "quotas": {
            entity[0][1]: int(rates["producer_byte_rate"])
            for entity, rates in quotas.items()
            if str(entity[0][1]).startswith(own)
        },
        "group_configs": {
            str(group): int(settings["consumer.session.timeout.ms"])
            for group, settings in configs.items()
            if str(group).startswith(own) and "consumer.session.timeout.ms" in settings
        },
        "client_metrics": {
            str(name): int(settings["interval.ms"]) for name, settings in metrics.items() if str(name).startswith(own)
        },
    }


def test_killed_deploys_of_access_converge(access_stack: AccessStack) -> None:
    stack, chance, running = access_stack, random.Random(SEED), 0
    up = partial(stack.shell.in_process, "up", "--stack", "dev", "--yes")
    stack.set_password("app", "correct-horse")
    for number in range(1, KILLS + 1):
        drawn = draw(chance, stack.name)
        stack.declare(declaration(drawn))
        process, pause = chance.choice(sorted(PROCESSES)), chance.uniform(0.3, 4.0)
        running += killed_up(stack.project, stack.shell, process, partial(time.sleep, pause))
        attempts = deployed_again(up)
        print(f"{number}: {process} after {pause:.1f} s, {attempts} attempts", flush=True)
        assert on_the_cluster(stack) == drawn, number
        plan = json.loads(stack.shell.in_process("plan", "--stack", "dev", "--format", "json").stdout)
        assert plan["access"]["items"] == [], number
    stack.declare(declaration({kind: {} for kind in ENTRIES}))
    killed_up(stack.project, stack.shell, "engine", partial(time.sleep, chance.uniform(1.0, 3.0)))
    deployed_again(up)
    assert on_the_cluster(stack) == {kind: {} for kind in ENTRIES}
    kinds = {each["type"] for each in resources_in_state(stack.shell) if each["type"].startswith("kafka:")}
    assert kinds <= {"kafka:index/topic:Topic"}, "nothing of the access stays in the state"
    print(f"{running} of {KILLS} deploys were killed while they ran")
