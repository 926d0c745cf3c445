"""Random legitimate histories: clients that follow the declared access, whatever changes meanwhile.

A history has one topic. Its declared access changes only between observations: each change ends with one, so that no
access is declared and revoked without an observation. A client runs only while it is declared. Brokers may still show
it for a while after its end: as a member whose session has not timed out, as an open transaction, by what it committed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.campaigns.usage.clients import Client, Clients, Kind, open_transaction
from tests.campaigns.usage.cluster import VISIBLE
from tests.support.access_parts import declared_access
from topicwarden.kafka_facts.access.roles import consume, produce
from topicwarden.model.access import (
    ANY_PRINCIPAL,
    WILDCARD,
    AccessSource,
    Acl,
    DeclaredAccess,
    Grant,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from topicwarden.model.problem import Location

LEGITIMATE: Final = (
    Kind.CLASSIC,
    Kind.CONSUMER,
    Kind.SHARE,
    Kind.MANUAL,
    Kind.TRANSACTIONAL,
    Kind.IDEMPOTENT,
    Kind.PLAIN,
)
"""The kinds of random clients. Streams groups are planted only: a process of Java costs too much."""
_WAIT_S: Final = 60.0
SOURCE: Final = (AccessSource(Location("topics/t.yaml", 1, 1), "access of the history"),)


@dataclass
class Application:
    """A client that the access ``acls`` allows, while they are declared."""

    kind: Kind
    name: str
    acls: frozenset[Acl]
    client: Client | None = None
    declared: bool = True
    worked: bool = False


@dataclass
class History:
    """One topic, its applications, and the log of what happened, for messages."""

    name: str
    chance: random.Random
    clients: Clients
    admin: AdminClient
    applications: list[Application] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    used_at: float = 0.0
    """The time of the last use that brokers can show: seconds since the epoch."""
    _number: int = 0

    @property
    def running(self) -> bool:
        """True if a client of the topic runs."""
        return any(each.client is not None for each in self.applications)

    @property
    def topic(self) -> str:
        return f"{self.name}.orders"

    def declared(self) -> DeclaredAccess:
        """Return the declared access now; there always is some for the topic."""
        base = consume(self.topic, Grant(f"User:{self.name}-base", name=f"{self.name}-base"))
        acls = {*base, *(acl for each in self.applications if each.declared for acl in each.acls)}
        return declared_access(acls=dict.fromkeys(sorted(acls), SOURCE))

    def create(self) -> None:
        """Create the topic."""
        topic = NewTopic(self.topic, self.chance.randint(1, 3), self.chance.randint(1, self._brokers()))
        for done in self.admin.create_topics([topic]).values():
            done.result(_WAIT_S)
        self._until_visible()

    def change_declarations(self) -> None:
        """End applications together with their declarations, and declare others, which run from now on."""
        for each in self.applications:
            if each.declared and self.chance.random() < 0.3:
                self._end(each)
                each.declared = False
                self._note(f"{each.name} is no longer declared")
        for each in [one for one in self.applications if not one.declared]:
            if self.chance.random() < 0.25:
                each.declared = True
                self._note(f"{each.name} is declared again")
        while sum(each.declared for each in self.applications) < 2 or self.chance.random() < 0.2:
            self.applications.append(self._new())

    def act(self) -> None:
        """Do one to three things that are legitimate with the present declarations."""
        for _ in range(self.chance.randint(1, 3)):
            actions: Sequence[Callable[[], None]] = (
                *(self._work,) * 6,
                self._stop,
                self._delete_group,
                self._reset,
                self._recreate,
                self._trim,
                self._read_unseen,
            )
            self.chance.choice(actions)()

    def close(self) -> None:
        for each in self.applications:
            if each.client is not None:
                each.client.close()
                each.client = None

    def _new(self) -> Application:
        self._number += 1
        kind = self.chance.choice(LEGITIMATE)
        name = f"{self.chance.choice((VISIBLE, ''))}{self.name}-{self._number}"
        application = Application(kind, name, random_access(self.chance, self.topic, kind, name))
        self._note(f"{name} ({kind}) is declared")
        return application

    def _work(self) -> None:
        declared = [each for each in self.applications if each.declared]
        for each in self.chance.sample(declared, min(2, len(declared))):
            try:
                if each.client is None:
                    static = self.chance.random() < 0.3
                    each.client = self.clients.start(each.kind, each.name, self.topic, static=static)
                    self._note(f"{each.name} starts{' as a static member' if static else ''}")
                if each.kind is Kind.SHARE:
                    self._write()
                each.client.work()
            except (AssertionError, KafkaException) as error:  # brokers have just started, or another member fenced it
                self._note(f"{each.name} fails: {error}")
                if each.client is not None:
                    each.client.close()
                    each.client = None
            each.worked = True
            self.used_at = time.time()
            self._note(f"{each.name} works")

    def _write(self) -> None:
        """Let a declared producer write, else one that brokers do not remember."""
        writers = [each for each in self.applications if each.client is not None and each.kind.writes]
        if writers:
            self.chance.choice(writers).client.work()  # type: ignore[union-attr]
        else:
            producer = self.clients.start(Kind.PLAIN, "unknown", self.topic)
            producer.work()
            producer.close()

    def _stop(self) -> None:
        running = [each for each in self.applications if each.client is not None]
        if running:
            self._end(self.chance.choice(running))

    def _end(self, application: Application) -> None:
        if (client := application.client) is None:
            return
        crashed = self.chance.random() < 0.5
        if crashed and application.kind is Kind.TRANSACTIONAL:
            open_transaction(client)
        (client.abandon if crashed else client.close)()
        application.client = None
        self.used_at = time.time()
        self._note(f"{application.name} {'crashes' if crashed else 'stops'}")

    def _stopped_groups(self) -> list[Application]:
        groups = (each for each in self.applications if each.kind.has_group and each.kind is not Kind.SHARE)
        return [each for each in groups if each.client is None and each.worked]

    def _delete_group(self) -> None:
        if stopped := self._stopped_groups():
            group = self.chance.choice(stopped)
            for done in self.admin.delete_consumer_groups([group.name]).values():
                try:
                    done.result(_WAIT_S)
                    self._note(f"{group.name} is deleted")
                except KafkaException as error:  # it still has a member, or it is gone
                    self._note(f"{group.name} is not deleted: {error.args[0].name()}")

    def _reset(self) -> None:
        """Reset the offsets of a declared group, as `kafka-consumer-groups --reset-offsets` does."""
        if declared := [each for each in self._stopped_groups() if each.declared]:
            group = self.chance.choice(declared)
            partitions = [TopicPartition(self.topic, 0, self.chance.randint(0, 3))]
            request = ConsumerGroupTopicPartitions(group.name, partitions)
            for done in self.admin.alter_consumer_group_offsets([request]).values():
                try:
                    done.result(_WAIT_S)
                    self.used_at = time.time()
                    self._note(f"{group.name} is reset")
                except KafkaException as error:
                    self._note(f"{group.name} is not reset: {error.args[0].name()}")

    def _recreate(self) -> None:
        if self.chance.random() < 0.7:
            return
        for each in self.applications:
            self._end(each)
        for done in self.admin.delete_topics([self.topic]).values():
            done.result(_WAIT_S)
        deadline = time.monotonic() + _WAIT_S
        while True:
            try:
                self.create()
                break
            except KafkaException:
                assert time.monotonic() < deadline
                time.sleep(0.2)
        self._note("the topic is created again")

    def _trim(self) -> None:
        for done in self.admin.delete_records([TopicPartition(self.topic, 0, 0)]).values():
            with suppress(KafkaException):  # another broker has just become the leader
                done.result(_WAIT_S)

    def _read_unseen(self) -> None:
        """Let a reader without commits, which nobody can see, read the topic."""
        reader = self.clients.start(Kind.UNCOMMITTED, f"{self.name}-none", self.topic)
        reader.work()
        reader.close()
        self._note("a reader without commits reads")

    def _brokers(self) -> int:
        return len(self.clients.servers.split(","))

    def _until_visible(self) -> None:
        """Wait until clients see a leader of each partition."""
        consumer = Consumer({"bootstrap.servers": self.clients.servers, "group.id": "none", "log_level": 0})
        try:
            deadline = time.monotonic() + _WAIT_S
            while True:
                found = consumer.list_topics(self.topic, timeout=_WAIT_S).topics[self.topic]
                if found.error is None and all(each.leader >= 0 for each in found.partitions.values()):
                    return
                assert time.monotonic() < deadline
                time.sleep(0.1)
        finally:
            consumer.close()

    def _note(self, text: str) -> None:
        self.log.append(text)


def random_access(chance: random.Random, topic: str, kind: Kind, name: str) -> frozenset[Acl]:
    """Return ACLs that allow a client to work, in one of the ways in which teams write them."""
    principal = f"User:{name}"
    named = chance.random()
    grant = Grant(
        principal, name=name if named < 0.5 else name[: chance.randint(len(name) - 3, len(name))], prefix=named >= 0.5
    )
    if kind.has_group:
        acls = {*consume(topic, grant)}
    else:
        acls = {*produce(topic, grant if kind is Kind.TRANSACTIONAL else Grant(principal))}
    if chance.random() < 0.2:  # any group, or any transactional id
        acls = {
            acl if acl.resource_type is ResourceType.TOPIC else _with(acl, WILDCARD, PatternType.LITERAL)
            for acl in acls
        }
    if chance.random() < 0.2:
        acls = {Acl(a.principal, a.host, Operation.ALL, *_rest(a)) for a in acls}
    if chance.random() < 0.2:  # the topic is open to everyone, the name is not
        acls = {
            Acl(ANY_PRINCIPAL if a.resource_type is ResourceType.TOPIC else a.principal, a.host, a.operation, *_rest(a))
            for a in acls
        }
    if chance.random() < 0.2:  # a prefix of topics
        acls = {
            _with(acl, acl.resource_name[:-2], PatternType.PREFIXED) if acl.resource_type is ResourceType.TOPIC else acl
            for acl in acls
        }
    if chance.random() < 0.2:  # another principal is denied
        acls.add(Acl("User:mallory", WILDCARD, Operation.ALL, PermissionType.DENY, ResourceType.TOPIC, topic))
    return frozenset(acls)


def _with(acl: Acl, name: str, pattern: PatternType) -> Acl:
    return Acl(acl.principal, acl.host, acl.operation, acl.permission, acl.resource_type, name, pattern)


def _rest(acl: Acl) -> tuple[PermissionType, ResourceType, str, PatternType]:
    return acl.permission, acl.resource_type, acl.resource_name, acl.pattern_type
