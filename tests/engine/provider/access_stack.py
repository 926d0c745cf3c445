"""A stack with access of its own on the broker that the tests of the provider share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kafka import KafkaAdminClient

from tests.support.projects import Shell
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.model.access import Acl, LiveAccess
from topicwarden.model.project import Project


@dataclass
class AccessStack:
    """A project of its own on the shared broker; all names that it declares begin with ``name``."""

    project: Project
    shell: Shell
    name: str

    def declare(self, access: str, topic: str = "") -> None:
        """Declare one topic, with more lines of YAML, and the file of ``access``, with ``name`` in place of NAME."""
        text = f"{{topic: NAME.orders, owner: team, partitions: 1, replication_factor: 1{topic}}}\n"
        (self.project.topics / "all.yaml").write_text(text.replace("NAME", self.name), encoding="utf-8")
        self.project.access.mkdir(exist_ok=True)
        (self.project.access / "all.yaml").write_text(access.replace("NAME", self.name), encoding="utf-8")

    def pulumi(self, command: str) -> str:
        done = self.shell.run("pulumi", *command.split(), "--non-interactive")
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def up(self, *arguments: str) -> str:
        done = self.shell.in_process("up", "--stack", "dev", "--yes", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def set_password(self, secret: str, password: str) -> None:
        self.pulumi(f"config set --secret {secret} {password}")

    def live(self) -> LiveAccess:
        """Return the access on the cluster."""
        with open_cluster(connect_to(self.project, "dev")) as cluster:
            return cluster.access([f"{self.name}-group"])

    def acls(self) -> frozenset[Acl]:
        """Return the ACLs of this project's principals on the cluster."""
        return frozenset(each for each in self.live().acls or () if each.principal.startswith(f"User:{self.name}"))

    @contextmanager
    def admin(self) -> Iterator[KafkaAdminClient]:
        with connected(list(connect_to(self.project, "dev").bootstrap_servers)) as admin:
            yield admin
