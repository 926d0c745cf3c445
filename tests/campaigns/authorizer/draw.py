"""Draw random ACLs, and the resources to ask about, from one seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.campaigns.authorizer.brokers import SOURCES, SUPER_USERS, USERS
from topicwarden.kafka_facts.access.operations import SUPPORTED_OPERATIONS
from topicwarden.model.access import (
    ANY_PRINCIPAL,
    CLUSTER,
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourceType,
)

TOPICS: Final = (
    "o",
    "or",
    "orders",
    "orders.eu",
    "orders.eu.v1",
    "orders-x",
    "ORDERS",
    "payments",
    "_audit",
    "hardcode",
)
NAMES: Final = (
    *TOPICS,
    "*",
    "*x",
    "ord*",
    "a*b",
    "bill|ing",
    "x=y,z",
    "a b",
    "größe",
    "数据-app",
    "数",
    "~",
    "#a",
    "(b)",
    "hard",
    "kafka-cluster",
)
"""Names of groups and transactional IDs, which may have any character."""
_OTHER_PRINCIPALS: Final = ("User:nobody", "Group:alice", "user:alice", "User:", "User:alice ", "User:CN=*,OU=apps")
_OTHER_HOSTS: Final = ("127.0.0.3", "::1", "localhost", "127.0.0.0/30", "127.0.0.2/16", "0:0:0:0:0:0:0:0/64", "::2/127")
_RANDOM_NAMES: Final = 6
_MOST_ACLS: Final = 160
_TYPES: Final = {
    ResourceType.TOPIC: 45,
    ResourceType.GROUP: 25,
    ResourceType.TRANSACTIONAL_ID: 15,
    ResourceType.CLUSTER: 12,
    ResourceType.DELEGATION_TOKEN: 2,
    ResourceType.USER: 1,
}


@dataclass(frozen=True)
class Draw:
    """ACLs, the resources to ask about, and who asks: users and the addresses from which they connect."""

    acls: frozenset[Acl]
    resources: tuple[Resource, ...]
    clients: tuple[tuple[str, str], ...]


class Chance:
    """Random draws for brokers on ZooKeeper or on KRaft, of a Kafka version that knows these operations."""

    def __init__(self, seed: str, operations: Sequence[Operation], *, zookeeper: bool) -> None:
        self._random = random.Random(seed)
        self._operations = operations
        self._zookeeper = zookeeper

    def draw(self, clients: int) -> Draw:
        """Return a draw with this number of clients."""
        topics = [*TOPICS, *(self._name("aAb.-_", 5) for _ in range(_RANDOM_NAMES))]
        names = [*NAMES, *(self._name("ab*|= ", 4) for _ in range(_RANDOM_NAMES))]
        by_type = {
            ResourceType.TOPIC: sorted({topic for topic in topics if topic.strip(".")}),
            ResourceType.GROUP: sorted(set(names)),
            ResourceType.TRANSACTIONAL_ID: sorted(set(names)),
        }
        # A few principals and hosts have most of the ACLs, so that several ACLs are about one question.
        users = self._random.sample(USERS, 4)
        acls = {self._acl(by_type, users) for _ in range(self._random.randrange(_MOST_ACLS))}
        candidates = [(user, source) for user in users for source in SOURCES]
        candidates += [(self._random.choice(USERS), self._random.choice([*SOURCES])) for _ in range(4)]
        resources = [Resource(kind, name) for kind, all_names in by_type.items() for name in all_names]
        return Draw(
            frozenset(acls),
            tuple(each for each in [*resources, CLUSTER] if self._zookeeper or not stops_broker(each, acls)),
            tuple(self._random.sample(sorted(set(candidates)), min(clients, len(set(candidates))))),
        )

    def draw_for_producer_ids(self) -> Draw:
        """Return a few ACLs on topics, and no resources: only producer IDs are asked for."""
        users = self._random.sample(USERS[:-2], 2)
        acls = {
            Acl(
                self._random.choice([*(f"User:{user}" for user in users), ANY_PRINCIPAL]),
                WILDCARD if self._chance(0.8) else self._random.choice([*SOURCES.values()]),
                self._random.choice([Operation.WRITE, Operation.WRITE, Operation.ALL, Operation.READ]),
                PermissionType.DENY if self._chance(0.35) else PermissionType.ALLOW,
                ResourceType.TOPIC,
                self._random.choice(["a", "ab", "abc", "hard", "hardcode", WILDCARD]),
                PatternType.PREFIXED if self._chance(0.4) else PatternType.LITERAL,
            )
            for _ in range(self._random.randint(1, 6))
        }
        return Draw(frozenset(acls), (), tuple((user, self._random.choice([*SOURCES])) for user in users))

    def _acl(self, names: dict[ResourceType, list[str]], users: Sequence[str]) -> Acl:
        kind = self._random.choices(list(_TYPES), list(_TYPES.values()))[0]
        name = self._pattern(kind, names)
        if self._chance(0.9):
            operation = self._random.choice([*SUPPORTED_OPERATIONS[kind], Operation.ALL])
        else:
            operation = self._random.choice(self._operations)
        if operation not in self._operations:
            operation = Operation.DESCRIBE
        return Acl(
            self._principal(users),
            self._host(),
            operation,
            PermissionType.DENY if self._chance(0.25) else PermissionType.ALLOW,
            kind,
            name,
            PatternType.PREFIXED if self._chance(0.4) else PatternType.LITERAL,
        )

    def _pattern(self, kind: ResourceType, names: dict[ResourceType, list[str]]) -> str:
        """Return a name, the beginning of one, one that is longer, or the wildcard."""
        if kind is ResourceType.CLUSTER:
            return CLUSTER.name
        if self._chance(0.15):
            return WILDCARD
        name = self._random.choice(names.get(kind, list(TOPICS)))
        if self._chance(0.4):
            return name[: self._random.randint(1, len(name))].strip(".") or name  # ZooKeeper has no "."
        if self._chance(0.1):
            return name + self._random.choice(["x", "*", "."])
        return name

    def _principal(self, users: Sequence[str]) -> str:
        if self._chance(0.2):
            return ANY_PRINCIPAL
        if self._chance(0.1):
            return self._random.choice(_OTHER_PRINCIPALS)
        return f"User:{self._random.choice([*users, *users, self._random.choice(USERS)])}"

    def _host(self) -> str:
        if self._chance(0.6):
            return WILDCARD
        return self._random.choice([*SOURCES.values(), *_OTHER_HOSTS])

    def _name(self, characters: str, longest: int) -> str:
        return "".join(self._random.choices(characters, k=self._random.randint(1, longest)))

    def _chance(self, share: float) -> bool:
        return self._random.random() < share


def stops_broker(resource: Resource, acls: set[Acl]) -> bool:
    """Return whether a question about ``resource`` may stop a thread of a KRaft broker.

    ``StandardAuthorizerData.checkSection`` shortens the wildcard "*" to the characters that a name and an ACL have in
    common. If both begin with the same character before "*", it throws an exception or never ends.
    """
    return resource.name < WILDCARD and any(
        acl.resource_type is resource.type
        and acl.resource_name[0] == resource.name[0]
        and not resource.name.startswith(acl.resource_name)
        for acl in acls
    )


assert {f"User:{user}" for user in USERS[-2:]} < SUPER_USERS
