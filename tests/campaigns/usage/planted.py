"""Plant undeclared readers and writers of each kind, beside declared access that nearly allows them."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Final

from confluent_kafka.admin import AdminClient

from tests.campaigns.usage.clients import Client, Clients, Kind, StreamsHost
from tests.campaigns.usage.cluster import UsageCluster
from tests.campaigns.usage.observer import Observer, Reported, failed, read
from tests.campaigns.usage.scenario import SOURCE, History
from tests.support.access_parts import declared_access
from topicwarden.kafka_facts.access.roles import consume, produce
from topicwarden.model.access import (
    ANY_PRINCIPAL,
    WILDCARD,
    Acl,
    DeclaredAccess,
    Grant,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)

PLANTED: Final = (
    Kind.CLASSIC,
    Kind.CONSUMER,
    Kind.SHARE,
    Kind.STREAMS,
    Kind.MANUAL,
    Kind.TRANSACTIONAL,
    Kind.IDEMPOTENT,
)
LOOKS: Final = 3
"""The observations of each client, which works before each. A group without members needs three: it may be reset."""
_AT_ONCE: Final = 20
_THREADS: Final = 10


@dataclass
class Found:
    """The numbers planted and found, by kind; ``missed`` has a message for each that was not found.

    ``found`` is by kind and by the number of the observation: with those that an earlier one found.
    """

    planted: Counter[Kind] = field(default_factory=Counter)
    found: Counter[tuple[Kind, int]] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)
    claimed: list[str] = field(default_factory=list)
    """Readers that commit nothing, and plain producers, that were reported although nobody can see them."""

    def table(self) -> str:
        """Return how many were planted, and found by the first, second and third observation that saw them."""
        lines = [f"{'undeclared':28}{'planted':>9}{'1st':>6}{'2nd':>6}{'3rd':>6}"]
        for kind, planted in self.planted.items():
            numbers = "".join(f"{self.found[kind, look]:6}" for look in range(LOOKS))
            lines.append(f"{kind:28}{planted:9}{numbers}")
        lines += [f"MISSED  {each}" for each in self.missed]
        return "\n".join([*lines, *(f"CLAIMED {each}" for each in self.claimed)])


@dataclass
class _Plant:
    """One undeclared client, the topic that it uses, and the declared access of the topic."""

    history: History
    kind: Kind
    name: str
    declared: DeclaredAccess
    observer: Observer
    chance: random.Random
    client: Client | None = None
    reported: list[list[Reported]] = field(default_factory=list)

    def start(self) -> None:
        self.client = self.history.clients.start(self.kind, self.name, self.history.topic)

    def work(self) -> None:
        if not self.kind.writes:  # by a producer that brokers do not remember
            writer = self.history.clients.start(Kind.PLAIN, "unknown", self.history.topic)
            writer.work()
            writer.close()
        assert self.client
        self.client.work()

    def close(self) -> None:
        if self.client is not None:
            self.client.close()

    def fails(self) -> list[bool]:
        """Return whether each observation reported the client by its name."""
        check = "undeclared-producer" if self.kind.writes else "undeclared-consumer"
        return [
            any(self.kind is Kind.IDEMPOTENT or self.name in message for message in failed(each).get(check, ()))
            for each in self.reported
        ]


def plant(cluster: UsageCluster, streams: StreamsHost | None, count: int, seed: str, kinds: Sequence[Kind]) -> Found:
    """Plant ``count`` clients of each of ``kinds``, and some that nobody can see. Observe each three times."""
    found = Found()
    clients = Clients(cluster.bootstrap, streams)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    plants = []
    for number in range(count):
        for kind in (*kinds, Kind.UNCOMMITTED, Kind.PLAIN):
            chance = random.Random(f"{seed}/{kind}/{number}")
            history = History(f"p{seed}{kind.name.lower()}{number}", chance, clients, admin)
            name = f"{history.name}-intruder"
            observer = Observer(cluster.folder / "histories" / history.name, chance, _anything("User:mallory"))
            declared = nearly_allowed(chance, history.topic, kind, name)
            plants.append(_Plant(history, kind, name, declared, observer, chance))
    for first in range(0, len(plants), _AT_ONCE):
        _run(cluster, plants[first : first + _AT_ONCE])
    _count(plants, found)
    return found


def _run(cluster: UsageCluster, plants: Sequence[_Plant]) -> None:
    with ThreadPoolExecutor(_THREADS) as executor:

        def each(act: Callable[[_Plant], object]) -> None:
            list(executor.map(act, plants))

        each(lambda one: one.history.create())
        try:
            _observe(cluster, [one for one in plants if one.chance.random() < 0.5], [])
            each(_Plant.start)
            for _ in range(LOOKS):
                each(_Plant.work)
                _observe(cluster, plants, plants)
        finally:
            each(_Plant.close)


def _observe(cluster: UsageCluster, plants: Sequence[_Plant], counted: Sequence[_Plant]) -> None:
    reading = read(cluster.admin)
    for one in plants:
        reported = one.observer.observe(reading, {one.history.topic}, one.declared)
        if one in counted:
            one.reported.append(reported)
    time.sleep(0.01)  # observations have times of their own


def _count(plants: Sequence[_Plant], found: Found) -> None:
    for one in plants:
        fails = one.fails()
        if one.kind not in PLANTED:
            found.claimed += [f"{one.kind} of {one.history.topic}: {each}" for each in one.reported if failed(each)]
            continue
        found.planted[one.kind] += 1
        found.found.update((one.kind, look) for look in range(LOOKS) if any(fails[: look + 1]))
        if not fails[-1]:
            acls = ", ".join(map(str, one.declared.acls))
            found.missed.append(f"{one.kind} {one.name}: {one.reported[-1]} with {acls}")


def _anything(principal: str) -> list[Acl]:
    """Return ACLs by which a principal may do everything."""
    kinds = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
    return [Acl(principal, WILDCARD, Operation.ALL, PermissionType.ALLOW, kind, WILDCARD) for kind in kinds]


def nearly_allowed(chance: random.Random, topic: str, kind: Kind, name: str) -> DeclaredAccess:
    """Return declared access of ``topic`` by which nobody may do what the client ``name`` does."""
    other = f"User:{topic}-other"
    acls = {*consume(topic, Grant(other, name=f"{name}s"))}
    if kind is not Kind.IDEMPOTENT:
        acls |= {*produce(topic, Grant(other, name=f"{name}s"))}
    intruder = f"User:{name}"
    names = ResourceType.TRANSACTIONAL_ID if kind.writes else ResourceType.GROUP
    operation = Operation.WRITE if kind.writes else Operation.READ

    def acl(principal: str, what: Operation, resource: ResourceType, named: str) -> Acl:
        return Acl(principal, WILDCARD, what, PermissionType.ALLOW, resource, named)

    near = [
        {acl(intruder, Operation.DESCRIBE, ResourceType.TOPIC, topic), acl(intruder, operation, names, name)},
        {acl(intruder, Operation.READ if kind.writes else Operation.WRITE, ResourceType.TOPIC, topic)},
        {
            acl(intruder, operation, ResourceType.TOPIC, topic),
            acl(intruder, operation, names, name),
            Acl(intruder, WILDCARD, Operation.ALL, PermissionType.DENY, ResourceType.TOPIC, topic),
        },
        {
            acl(intruder, operation, ResourceType.TOPIC, topic),
            acl(intruder, operation, names, WILDCARD),
            Acl(
                ANY_PRINCIPAL,
                WILDCARD,
                operation,
                PermissionType.DENY,
                ResourceType.TOPIC,
                topic[:3],
                PatternType.PREFIXED,
            ),
        },
        {acl(intruder, operation, ResourceType.TOPIC, f"{topic}.v2"), acl(intruder, operation, names, name)},
    ]
    if kind is not Kind.IDEMPOTENT:
        near += [
            {acl(intruder, operation, ResourceType.TOPIC, topic)},
            {
                acl(intruder, operation, ResourceType.TOPIC, topic),
                replace(acl(intruder, operation, names, f"{name}-"), pattern_type=PatternType.PREFIXED),
            },
        ]
    acls |= chance.choice(near)
    return declared_access(acls=dict.fromkeys(sorted(acls), SOURCE))
