"""Simulate a topic, its clients, its declared and deployed access, and audits at any time, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random

from tests.support.access_parts import declared_access, live_access
from tests.support.subjects import NOW, subject
from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.judge import results_of
from topicwarden.kafka.read.transactions import ProducerPosition
from topicwarden.model.access import (
    AccessSource,
    Acl,
    AuthorizerSettings,
    Operation,
    PermissionType,
    ResourceType,
)
from topicwarden.model.problem import Location
from topicwarden.model.usage import DAY_MS
from topicwarden.model.verdict import Verdict
from topicwarden.policies.usage_policy import UsagePolicy
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope
from topicwarden.usage.declared_use import AclUse
from topicwarden.usage.join_records import join
from topicwarden.usage.observe import GroupState, ObservedGroup, ObservedProducers, ObservedTopic, UseObservation
from topicwarden.usage.remember import remember
from topicwarden.usage.use_context import UseContext
from topicwarden.usage.use_records import UseRecords

SECOND, MINUTE = 1_000, 60_000
SESSION_MS = {"classic": 30 * MINUTE, "consumer": MINUTE, "share": MINUTE, "streams": MINUTE}
TRANSACTION_MS = 15 * MINUTE
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SOURCE = AccessSource(Location("topics/t.yaml", 4, 3), "consume of t", "t")
CONSUMERS, PRODUCERS = ("classic", "consumer", "share", "streams", "manual"), ("transactional", "idempotent")


def acl(principal: str, operation: Operation, kind: ResourceType, name: str) -> Acl:
    return Acl(principal, "*", operation, PermissionType.ALLOW, kind, name)


@dataclass(eq=False)
class Client:
    """A client of topic ``t``. ``name`` is its group or transactional id; an idempotent producer has a number only.

    ``stack`` is "ours", "other" for a principal of another stack, and "none" for one that nobody declares.
    """

    kind: str
    name: str
    principal: str
    stack: str = "ours"
    joined: bool = False
    heartbeat: int = -(10**15)
    number: int = 0
    epoch: int = 0
    begun: int | None = None
    sequences: dict[int, int | None] = field(default_factory=dict)

    @property
    def reads(self) -> bool:
        return self.kind in CONSUMERS

    @property
    def user(self) -> str:
        return str(self.number) if self.kind == "idempotent" else self.name

    @property
    def acls(self) -> frozenset[Acl]:
        operation = Operation.READ if self.reads else Operation.WRITE
        kind = ResourceType.GROUP if self.reads else ResourceType.TRANSACTIONAL_ID
        names = () if self.kind == "idempotent" else (acl(self.principal, operation, kind, self.name),)
        return frozenset({acl(self.principal, operation, ResourceType.TOPIC, "t"), *names})


@dataclass(eq=False)
class History:
    """One topic and everything that happens to it. ``undeclared`` are the users that used it while not declared."""

    draw: Random
    secured: bool = True
    visible: float = 1.0
    scope: StackScope = EVERY_TOPIC
    now: int = NOW
    ends: dict[int, int] = field(default_factory=lambda: {0: 5, 1: 5})
    topic_id: int = 0
    epochs: dict[int, int] = field(default_factory=lambda: {0: 1, 1: 1})
    clients: list[Client] = field(default_factory=list)
    declared: set[Client] = field(default_factory=set)
    deployed: set[Client] = field(default_factory=set)
    by_hand: set[Client] = field(default_factory=set)
    changed: set[Client] = field(default_factory=set)
    committed: dict[str, dict[int, int]] = field(default_factory=dict)
    positions: dict[int, dict[int, ProducerPosition]] = field(default_factory=lambda: {0: {}, 1: {}})
    expired: dict[int, dict[int, ProducerPosition]] = field(default_factory=lambda: {0: {}, 1: {}})
    reset: set[str] = field(default_factory=set)
    undeclared: set[str] = field(default_factory=set)
    written_at: int = NOW
    records: UseRecords = field(default_factory=lambda: UseRecords("c"))
    verdicts: dict[str, list[Verdict]] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def wait(self, milliseconds: int) -> None:
        """Let time pass: live members send heartbeats, and coordinators abort old transactions."""
        self.now += milliseconds
        for client in self.clients:
            if client.joined:
                self._uses(client)
                client.heartbeat = self.now
            if client.begun is not None and self.now - client.begun > TRANSACTION_MS:
                self.end_transaction(client)

    def may(self, client: Client) -> bool:
        """Return whether the brokers allow the client to use the topic now."""
        return not self.secured or client in self.deployed or client in self.by_hand

    def _uses(self, client: Client) -> None:
        if client not in self.declared and client.stack != "other":
            self.undeclared |= {client.user, str(client.number)}  # brokers may hide its transactional id

    def act(self, client: Client) -> None:
        """Let the client do one thing that the brokers allow."""
        if not self.may(client) or (client.stack == "ours" and client not in self.deployed):
            return
        if client.kind == "manual":
            self.commit(client)
        elif client.reads:
            what = self.draw.choice(("join", "join", "commit", "commit", "leave", "crash"))
            if what == "join" and not client.joined:
                client.joined = True
                client.heartbeat = self.now
                self._uses(client)
            elif client.joined:
                if what == "commit":
                    self.commit(client)
                elif what != "join":
                    client.joined = False
                    client.heartbeat = self.now if what == "crash" else -(10**15)
        elif client.kind == "idempotent":
            self.write(client)
        elif client.begun is None:
            client.begun = self.now
            self.write(client)
        elif self.draw.random() < 0.5:
            self.write(client)
        else:
            self.end_transaction(client)

    def commit(self, client: Client) -> None:
        offsets = self.committed.setdefault(client.name, {})
        for partition, end in self.ends.items():
            earlier = offsets.get(partition, 0)
            offsets[partition] = min(end, earlier + self.draw.randint(0, 9)) if earlier <= end else end
        self._uses(client)

    def write(self, client: Client) -> None:
        partition = self.draw.randint(0, 1)
        if not client.number:
            client.number = 1_000 + len(self.clients) * 10 + self.draw.randint(0, 10**6) * 100
        sequence = (client.sequences.get(partition) or 0) + 1
        client.sequences[partition] = sequence
        self.ends[partition] += 1
        self.written_at = self.now
        self.positions[partition][client.number] = ProducerPosition(client.epoch, sequence, client.begun is not None)
        self._uses(client)

    def end_transaction(self, client: Client) -> None:
        """Write the markers of a transaction, as its coordinator does, with a new epoch or with the same."""
        client.begun = None
        new = self.draw.random() < 0.7
        for partition, positions in self.positions.items():
            position = positions.get(client.number)
            if position is not None and position.in_transaction:
                self.ends[partition] += 1
                self.written_at = self.now
                epoch, sequence = (position.epoch + 1, None) if new else (position.epoch, position.sequence)
                positions[client.number] = ProducerPosition(epoch, sequence)
        if new:
            client.epoch += 1
            client.sequences.clear()

    def administer(self) -> None:
        """Let an administrator or a broker do what is no use of a client."""
        what = self.draw.choice(("reset", "delete group", "recreate", "expire", "leader", "expire offsets"))
        names = [
            name for name in self.committed if not any(self._listed(each) for each in self.clients if each.name == name)
        ]
        if what == "reset" and (free := [name for name in names if name not in self.reset]):
            name = self.draw.choice(free)
            self.reset.add(name)
            self.committed[name] = {partition: self.draw.randint(0, end) for partition, end in self.ends.items()}
        elif what in ("delete group", "expire offsets") and names:
            del self.committed[self.draw.choice(names)]
        elif what == "recreate" and self.draw.random() < 0.3 and not any(each.begun for each in self.clients):
            self.topic_id += 1
            self.written_at = self.now
            self.ends, self.positions = {0: 0, 1: 0}, {0: {}, 1: {}}
            self.expired = {0: {}, 1: {}}
            self.committed.clear()
        elif what == "expire":
            partition = self.draw.randint(0, 1)
            idle = [number for number, each in self.positions[partition].items() if not each.in_transaction]
            if idle:
                number = self.draw.choice(idle)
                self.expired[partition][number] = self.positions[partition].pop(number)
        elif what == "leader":
            # Another leader may still remember what the first one has forgotten.
            partition = self.draw.randint(0, 1)
            self.epochs[partition] += 1
            self.positions[partition] = {**self.expired[partition], **self.positions[partition]}
            self.expired[partition] = {}

    def declare(self) -> None:
        """Change what the YAML declares, and perhaps deploy it at once.

        Between two audits, nothing is declared and removed again: an audit would not notice.
        """
        ours = [client for client in self.clients if client.stack == "ours" and client not in self.changed]
        if ours:
            client = self.draw.choice(ours)
            self.changed.add(client)
            self.declared ^= {client}
        if self.draw.random() < 0.6:
            self.deploy()

    def deploy(self) -> None:
        self.deployed = set(self.declared)
        for client in self.clients:
            if client.stack == "ours" and client not in self.deployed:
                client.joined = False  # its next request is refused; the group lists it until its session ends

    def _listed(self, client: Client) -> bool:
        return client.joined or self.now - client.heartbeat < SESSION_MS.get(client.kind, 0)

    def observe(self, clock: int) -> UseObservation:
        sees_groups, sees_producers = (self.draw.random() < self.visible for _ in range(2))
        groups, states = {}, {}
        for name in sorted({client.name for client in self.clients if client.reads}):
            members = [each for each in self.clients if each.name == name and self._listed(each)]
            rebalancing = self.draw.random() < 0.1
            if (members or name in self.committed) and (sees_groups or self.draw.random() < 0.5):
                kind = next((each.kind for each in self.clients if each.name == name), "")
                active = bool(members) and not rebalancing
                offsets = self.committed.get(name, {})
                states[name] = GroupState(name, kind, bool(members), frozenset({"t"} if active or offsets else ()))
                if active or offsets:
                    groups[name] = ObservedGroup(
                        name, "classic" if kind == "manual" else kind, active, len(members), committed=dict(offsets)
                    )
        transactional = [client for client in self.clients if client.kind == "transactional" and client.number]
        named = transactional if sees_producers else [each for each in transactional if self.draw.random() < 0.5]
        context = self.context()
        topic = ObservedTopic(
            "t",
            f"id-{self.topic_id}",
            dict(self.ends),
            1_000,
            tuple(groups.values()),
            {
                partition: ObservedProducers(self.epochs[partition], dict(positions))
                for partition, positions in self.positions.items()
            },
            {client.number: client.name for client in named},
            frozenset(client.name for client in named if client.begun is not None),
            sees_groups=sees_groups,
            sees_producers=sees_producers,
            access=AclUse(context.declared.acls).digest("t"),
            deployed=context.deployed("t"),
        )
        return UseObservation("c", clock, {"t": topic}, states)

    def context(self) -> UseContext:
        declared = {each: (SOURCE,) for client in self.declared for each in client.acls}
        # Access of the topic is declared, even if the draw has removed all clients.
        declared[acl("User:owner", Operation.READ, ResourceType.TOPIC, "t")] = (SOURCE,)
        declared[acl("User:owner", Operation.READ, ResourceType.GROUP, "owner")] = (SOURCE,)
        live = {each for client in self.deployed | self.by_hand for each in client.acls} | {
            each for each in declared if each.principal == "User:owner"
        }
        access = live_access(
            acls=frozenset(live) if self.secured else None,
            settings={1: AuthorizerSettings(STANDARD if self.secured else "", frozenset(), open_without_acl=False)},
            security_disabled=not self.secured,
        )
        policy = UsagePolicy(idle_after=20 * DAY_MS, exempt_groups=("exempt-*",))
        return UseContext(declared_access(declared), access, self.scope, policy)

    def audit(self, jump: int = 0) -> Mapping[str, tuple[CheckResult, ...]]:
        """Return the results of the checks of use. ``jump`` is the error of the clock of this audit."""
        seen = self.observe(self.now + jump)
        self.changed.clear()
        known = self.records if seen.taken_at > self.records.observed_at else UseRecords("c")
        records = remember(known, seen)
        if known is self.records:
            self.records = join(self.records, records) if self.draw.random() < 0.3 else records
        before = {key[0]: each.use() for key, each in known.topics.items() if key in records.topics}
        if before and records.topics["t", f"id-{self.topic_id}"].observed_since == seen.taken_at:
            before = {}
        context = replace(self.context(), groups=records.group_uses())
        of = subject()
        assert of.live
        live = replace(of.live, topic=replace(of.live.topic, partitions=1))
        of = replace(
            of,
            live=live,
            snapshot=replace(of.snapshot, taken_at=seen.taken_at),
            use=records.topic_uses()["t"],
            previous_use=before.get("t"),
            use_context=context,
        )
        return {
            name: results_of(CHECKS[name], of) or ()
            for name in ("undeclared-consumer", "undeclared-producer", "idle-topic")
        }

    def judge(self, jump: int = 0) -> Iterator[tuple[str, CheckResult]]:
        for name, results in self.audit(jump).items():
            yield from ((name, result) for result in results)


def legitimate(draw: Random) -> History:
    """Return a history with clients of this and another stack, which do only what their access allows."""
    secured = draw.random() < 0.7
    scope = (
        StackScope((), ("User:our-*", "User:owner", "User:rogue-*")) if secured and draw.random() < 0.4 else EVERY_TOPIC
    )
    history = History(draw, secured, draw.choice((1.0, 1.0, 0.8)), scope)
    for number in range(draw.randint(1, 4)):
        kind = draw.choice((*CONSUMERS, *PRODUCERS))
        history.clients.append(Client(kind, f"{kind}-{number}", f"User:our-{number}"))
    if scope is not EVERY_TOPIC and draw.random() < 0.5:
        client = Client(draw.choice((*CONSUMERS, *PRODUCERS)), "theirs", "User:their", "other")
        history.clients.append(client)
        history.by_hand.add(client)
    history.declared = {each for each in history.clients if each.stack == "ours" and draw.random() < 0.8}
    history.deploy()
    return history


def step(history: History) -> None:
    """Let something happen, after a while."""
    draw = history.draw
    history.wait(draw.choice((SECOND, 10 * SECOND, MINUTE, 20 * MINUTE, 3 * 60 * MINUTE, DAY_MS, 11 * DAY_MS)))
    what = draw.random()
    if what < 0.6 and history.clients:
        history.act(draw.choice(history.clients))
    elif what < 0.75:
        history.administer()
    elif what < 0.87:
        history.declare()
    else:
        history.deploy()
