"""Time deploys of many ACLs and users: `benchmarks/deploy.py --access`."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from brokers import started
from deploy import MeasuredStack, floor
from kafka import KafkaAdminClient

from topicwarden.kafka.write.access_admin import (
    Credential,
    Password,
    create_acls,
    delete_acls,
    wait_for_acls,
    wait_for_credentials,
    write_credentials,
)
from topicwarden.model.access import Acl, Operation, PermissionType, ResourceType
from topicwarden.model.project import find_project
from topicwarden.toolchain import environment

PER_REQUEST, DELETED_PER_REQUEST = 8_000, 100
"""The controller compares each deletion with each ACL, so more of them in a request take too long."""
ITERATIONS = 4096
_OPERATIONS = (Operation.READ, Operation.WRITE)


class MeasuredAccess(MeasuredStack):
    """A project with one topic, this number of ACLs, and users."""

    def __init__(self, repository: Path, folder: Path, servers: list[str], acls: int, users: int) -> None:
        super().__init__(repository, folder, servers, 1, partitions=1, provider="own")
        self._acls, self._users = acls, users

    def measure(self, variables: dict[str, str]) -> None:
        """Time each step; ``prepare`` and ``measure_beside`` are the parts of it."""
        self.prepare(variables)
        self._run("pulumi", "config", "set", "--secret", "password", "benchmark-password", "--stack", "dev")
        up = ("topicwarden", "up", "--stack", "dev", "--yes")
        self.time("create", lambda: self._run(*up))
        self.time("empty preview", lambda: self._run("pulumi", "preview", "--stack", "dev", *PARALLEL, lean=True))
        self.time("plan", self.plan)
        self.time("empty up", lambda: self._run(*up))

    def plan(self) -> None:
        """Plan a deploy of nothing new."""
        self._run("topicwarden", "plan", "--stack", "dev")

    def destroy(self) -> None:
        """Destroy the stack."""
        self.time("destroy", lambda: self._run("topicwarden", "destroy", "--stack", "dev", "--yes"))

    def _write_topics(self, first_retention: str) -> None:
        (self._root / "topics" / "one.yaml").write_text(
            "{topic: bench.v1, owner: bench, partitions: 1, replication_factor: 1, allow: [delete]}\n"
        )
        entries = [
            f"  - {{principal: 'User:app{number // 2}', operations: [{_OPERATIONS[number % 2]}], resource: Topic, "
            f"name: bench.t{number // 2}}}\n"
            for number in range(self._acls)
        ]
        users = "".join(
            f"  app{number}: {{mechanism: SCRAM-SHA-256, iterations: {ITERATIONS}, "
            "password: {secret: password, version: 1}}\n"
            for number in range(self._users)
        )
        folder = self._root / "access"
        folder.mkdir(exist_ok=True)
        allow = "allow: [revoke-access, remove-credential, first-acl, open-access]\n"
        (folder / "users.yaml").write_text(f"{allow}users:\n{users}", encoding="utf-8")
        for first in range(0, self._acls, _ACLS_OF_A_FILE):
            some = "".join(entries[first : first + _ACLS_OF_A_FILE])
            (folder / f"acls-{first}.yaml").write_text(f"{allow}acls:\n{some}", encoding="utf-8")


PARALLEL = ("--parallel", "1000")
_ACLS_OF_A_FILE = 5_000
"""A file has at most 1 MiB."""


def measure_access(arguments: argparse.Namespace) -> int:
    """Time the deploy of access, its floor, and with ``--topics-too`` as many topics."""
    project = find_project()
    acls, users = arguments.acls, arguments.users
    print(f"{'number':>7}  {'':9} {'step':26} {'wall s':>7} {'CPU s':>7} {'MiB':>7}", flush=True)
    with tempfile.TemporaryDirectory() as folder, started(Path(folder, "b"), arguments.brokers, authorizer=True) as box:
        servers = box.bootstrap_servers
        floors = access_floor(servers, acls, users)
        stack = MeasuredAccess(project.root, Path(folder, "own"), servers, acls, users)
        stack.measure(environment(project))
        if arguments.foreign:
            create_foreign(servers, arguments.foreign)
            stack.time("plan, foreign ACLs", stack.plan)
        stack.destroy()
        seconds = dict(stack.seconds)
    for step, bound in (("create", floors["create"]), ("destroy", floors["delete"])):
        print(f"{step}: {seconds[step] / bound:.1f} times that of the Admin API", flush=True)
    print(f"plan: {seconds['plan'] / seconds['empty preview']:.1f} times that of the empty preview", flush=True)
    if arguments.foreign:
        print(f"{arguments.foreign:,} foreign ACLs: {seconds['plan, foreign ACLs'] - seconds['plan']:+.1f} s in a plan")
    if arguments.topics_too:
        compare_with_topics(arguments, seconds, acls + users)
    return 0


def compare_with_topics(arguments: argparse.Namespace, seconds: Mapping[str, float], topics: int) -> None:
    """Deploy as many topics, and print how long access takes in relation to them."""
    project = find_project()
    with tempfile.TemporaryDirectory() as folder, started(Path(folder, "b"), arguments.brokers) as sandbox:
        floor(sandbox.bootstrap_servers, topics, 1)
        stack = MeasuredStack(
            project.root, Path(folder, "own"), sandbox.bootstrap_servers, topics, partitions=1, provider="own"
        )
        stack.measure(environment(project))
    for step in ("create", "empty preview", "plan", "destroy"):
        print(f"{step}: {seconds[step] / stack.seconds[step]:.2f} times that of {topics:,} topics", flush=True)


def access_floor(servers: list[str], acls: int, users: int) -> dict[str, float]:
    """Create and delete the same access with as few requests as the controller accepts; return the seconds."""
    every = [
        Acl(f"User:f{n // 2}", "*", _OPERATIONS[n % 2], _ALLOW, ResourceType.TOPIC, f"f.t{n}") for n in range(acls)
    ]
    credentials = [Credential(f"f{number}", "SCRAM-SHA-256") for number in range(users)]
    seconds = {}
    with KafkaAdminClient(bootstrap_servers=servers, request_timeout_ms=120_000) as admin:
        for step in ("create", "delete"):
            password = Password("benchmark-password", ITERATIONS) if step == "create" else None
            began = time.perf_counter()
            size = PER_REQUEST if step == "create" else DELETED_PER_REQUEST
            for start in range(0, acls, size):
                assert not (create_acls if step == "create" else delete_acls)(admin, every[start : start + size])
            assert not write_credentials(admin, dict.fromkeys(credentials, password))
            assert not wait_for_acls(admin, every, exist=step == "create")
            assert not wait_for_credentials(admin, dict.fromkeys(credentials, password))
            seconds[step] = time.perf_counter() - began
            print(f"{acls + users:>7}  {'-':9} {f'Admin API: {step}':26} {seconds[step]:7.1f}", flush=True)
    return seconds


_ALLOW = PermissionType.ALLOW


def create_foreign(servers: list[str], acls: int) -> None:
    """Create ACLs of others."""
    every = [Acl(f"User:x{n}", "*", Operation.READ, _ALLOW, ResourceType.TOPIC, f"x.t{n}") for n in range(acls)]
    with KafkaAdminClient(bootstrap_servers=servers, request_timeout_ms=120_000) as admin:
        for start in range(0, acls, PER_REQUEST):
            assert not create_acls(admin, every[start : start + PER_REQUEST])
        assert not wait_for_acls(admin, every, exist=True)
