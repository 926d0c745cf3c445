"""Change access at random under active clients on a real broker.

A sequence is a project with three topics, whose YAML changes step by step: grants of producers and consumers, raw ACLs
with prefixes, hosts and denials, and ACLs that somebody creates or deletes by hand. Before and after each deploy, the
broker itself tells what each user may do (``authorized_operations``). The invariant: whatever a user loses or gains is
in the plan that was made before, a refused plan changes nothing, and the loss of a client that is active needs a
refusal first.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml
from confluent_kafka import Consumer
from kafka import KafkaAdminClient, KafkaProducer
from kafka.errors import KafkaError
from kafka.protocol.admin import DescribeGroupsRequest, DescribeTransactionsRequest
from kafka.protocol.metadata import MetadataRequest

from tests.campaigns.authorizer.brokers import AuthorizingBroker, authorizing_broker
from tests.campaigns.authorizer.questions import GROUP_REFUSED, TOPIC_REFUSED, TRANSACTIONAL_ID_REFUSED
from tests.campaigns.authorizer.wire import OPERATION_CODES, create_coordinators, replace_acls
from tests.campaigns.versions.clusters import KafkaVersion
from tests.support.projects import empty_stack, own_cache, project_of
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.kafka.write.access_admin import create_acls, delete_acls, wait_for_acls
from topicwarden.kafka_facts.access.operations import implied_operations
from topicwarden.model.access import Acl, Operation, PatternType, PermissionType, Resource, ResourceType
from topicwarden.model.planned_change import AccessPlan, PlanReport, Severity
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.operations.plan import planned
from topicwarden.toolchain import Toolchain

USERS: Final = ("alice", "alic", "CN=orders,OU=apps", "bill|ing")
TOPICS: Final = ("orders", "orders.v1", "payments")
GROUPS: Final = ("billing", "billing-2")
TRANSACTIONAL_IDS: Final = ("tx", "tx-1")
STEPS: Final = 3
_ALLOWED: Final = ["revoke-access", "first-acl", "open-access"]
_ADDRESS: Final = "127.0.0.1"
_OPERATIONS: Final = {code: operation for operation, code in OPERATION_CODES.items()}

May: TypeAlias = frozenset[tuple[str, Operation, Resource]]
"""What each user may do, as the broker says."""


@dataclass
class Tally:
    """The counts over all sequences."""

    sequences: int = 0
    results: Counter[str] = field(default_factory=Counter)
    losses: int = 0
    gains: int = 0
    active: int = 0
    violations: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield the counts, one line each."""
        yield f"{self.sequences} sequences: " + ", ".join(f"{number} {how}" for how, number in self.results.items())
        yield f"{self.losses} losses and {self.gains} gains of an operation by a user, all compared with the plan"
        yield f"{self.active} times an active client lost access, each refused first"
        yield f"violations: {len(self.violations)}"
        yield from self.violations


def broker_says(broker: AuthorizingBroker) -> May:
    """Return what each user may do from ``_ADDRESS`` on the topics, groups and transactional ids."""
    return frozenset((user, *answer) for user in USERS for answer in _answers(broker, user))


def _answers(broker: AuthorizingBroker, user: str) -> Iterator[tuple[Operation, Resource]]:
    with broker.user(user, _ADDRESS) as client:
        metadata = client.send(
            MetadataRequest[8](
                topics=[MetadataRequest.MetadataRequestTopic(name=name) for name in TOPICS],
                allow_auto_topic_creation=False,
                include_topic_authorized_operations=True,
            )
        )
        for topic in metadata.topics:
            if topic.error_code != TOPIC_REFUSED:
                for code in topic.authorized_operations or ():
                    yield _OPERATIONS[code], Resource(ResourceType.TOPIC, topic.name)
        described = client.send(DescribeGroupsRequest[5](groups=list(GROUPS), include_authorized_operations=True))
        for group in described.groups:
            if group.error_code != GROUP_REFUSED:
                for code in group.authorized_operations or ():
                    yield _OPERATIONS[code], Resource(ResourceType.GROUP, group.group_id)
        states = client.send(DescribeTransactionsRequest[0](transactional_ids=list(TRANSACTIONAL_IDS)))
        for state in states.transaction_states:
            if state.error_code != TRANSACTIONAL_ID_REFUSED:
                yield Operation.DESCRIBE, Resource(ResourceType.TRANSACTIONAL_ID, state.transactional_id)


@dataclass
class Declared:
    """The YAML of a project, with all edits so far."""

    produce: dict[str, list[Any]] = field(default_factory=lambda: {topic: [] for topic in TOPICS})
    consume: dict[str, list[Any]] = field(default_factory=lambda: {topic: [] for topic in TOPICS})
    acls: list[dict[str, Any]] = field(default_factory=list)
    groups: list[dict[str, Any]] = field(default_factory=list)

    def write(self, project: Project, allow: list[str]) -> None:
        """Write all files; ``allow`` are the allowed changes of each file."""
        for topic in TOPICS:
            document = {
                "owner": "team",
                "partitions": 1,
                "replication_factor": 1,
                "access": {"produce": self.produce[topic], "consume": self.consume[topic]},
                "allow": allow,
            }
            (project.topics / f"{topic}.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
        folder = project.root / "access"
        folder.mkdir(exist_ok=True)
        rest = {"acls": self.acls, "groups": self.groups, "allow": allow}
        (folder / "rest.yaml").write_text(yaml.safe_dump(rest), encoding="utf-8")


class Chance:
    """Draws the edits of a sequence."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def edit(self, declared: Declared) -> str:
        """Change ``declared``; return what has changed."""
        topic = self._random.choice(TOPICS)
        kind = self._random.choice(("produce", "consume", "acls", "groups", "remove", "remove", "clear"))
        match kind:
            case "produce":
                declared.produce[topic].append(_unique(self._grant("transactional_id", TRANSACTIONAL_IDS)))
            case "consume":
                declared.consume[topic].append(_unique(self._grant("group", GROUPS)))
            case "acls":
                declared.acls.append(self._acl())
            case "groups":
                grant = {"principal": self._principal(), "group": self._random.choice(GROUPS), "operations": ["Read"]}
                declared.groups.append(grant)
            case "remove":
                every = [*declared.produce.values(), *declared.consume.values(), declared.acls, declared.groups]
                if filled := [each for each in every if each]:
                    chosen = self._random.choice(filled)
                    chosen.pop(self._random.randrange(len(chosen)))
            case "clear":
                declared.produce[topic], declared.consume[topic] = [], []
        for by_topic in (declared.produce, declared.consume):
            for name, grants in by_topic.items():
                by_topic[name] = _distinct(grants)
        declared.acls, declared.groups = _distinct(declared.acls), _distinct(declared.groups)
        return f"{kind} {topic}"

    def by_hand(self) -> tuple[Acl, bool]:
        """Return an ACL, and whether somebody creates it, or deletes it."""
        kind, names = self._random.choice(((ResourceType.TOPIC, TOPICS), (ResourceType.GROUP, GROUPS)))
        acl = Acl(
            self._principal(),
            "*",
            self._random.choice((Operation.READ, Operation.DESCRIBE, Operation.ALL)),
            PermissionType.ALLOW,
            kind,
            self._random.choice(names),
            self._random.choice(tuple(PatternType)),
        )
        return acl, self._random.random() < 0.7

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self._random.random() < probability

    def choice(self, values: list[Any]) -> Any:
        """Return one of ``values``."""
        return self._random.choice(values)

    def _principal(self) -> str:
        return f"User:{self._random.choice((*USERS, '*'))}"

    def _grant(self, key: str, names: tuple[str, ...]) -> dict[str, Any]:
        grant: dict[str, Any] = {"principal": self._principal()}
        if key == "group" or self.chance(0.5):
            grant[key] = self._random.choice(names)
            if self.chance(0.3):
                grant["prefix"] = True
        if self.chance(0.2):
            grant["host"] = self._random.choice((_ADDRESS, "127.0.0.2"))
        return grant

    def _acl(self) -> dict[str, Any]:
        kind, names = self._random.choice(
            (("Topic", (*TOPICS, "ord", "*")), ("Group", (*GROUPS, "*")), ("TransactionalId", TRANSACTIONAL_IDS))
        )
        name = self._random.choice(names)
        operations = ("Read", "Write", "Describe", "Delete", "All") if kind == "Topic" else ("Describe", "All")
        return {
            "principal": self._principal(),
            "permission": "Deny" if self.chance(0.25) else "Allow",
            "operations": [self._random.choice(operations)],
            "resource": kind,
            "name": name,
            "pattern": "Literal" if name == "*" or self.chance(0.6) else "Prefixed",
            "host": self._random.choice(("*", "*", _ADDRESS, "127.0.0.2")),
        }


def _unique(grant: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(grant.items()))


def _distinct(values: list[Any]) -> list[Any]:
    return list({repr(value): value for value in values}.values())


@dataclass(frozen=True)
class ActiveClient:
    """A client that works during a step: a member of a group, or a transactional producer."""

    user: str
    name: str
    needs: frozenset[tuple[Operation, Resource]]


class Sequence:
    """One sequence on the broker, in a project of its own."""

    def __init__(self, broker: AuthorizingBroker, number: int, seed: str, folder: Path, tally: Tally) -> None:
        self._broker, self._tally, self._name = broker, tally, f"sequence {number}"
        self._chance, self._declared = Chance(f"{seed}/{number}"), Declared()
        settings = f"config: {{'kafka:bootstrapServers': ['{broker.address}'], 'kafka:tlsEnabled': false}}\n"
        self._project = project_of(folder / f"project-{number}", {}, settings)
        self._shell = empty_stack(self._project, folder / f"state-{number}", {"PULUMI_CONFIG_PASSPHRASE": "guards"})

    def run(self) -> None:
        """Take all steps."""
        self._tally.sequences += 1
        with self._broker.super_user() as super_user:
            replace_acls(super_user, [])
        self._declared.write(self._project, [])
        done = self._up()
        assert done == 0, "the first deploy fails"
        for number in range(STEPS):
            changed = [self._chance.edit(self._declared) for _ in range(self._chance.choice([1, 2, 4]))]
            self._by_hand()
            self._step(f"{self._name} step {number} ({', '.join(changed)})")

    def _by_hand(self) -> None:
        if not self._chance.chance(0.4):
            return
        acl, create = self._chance.by_hand()
        with KafkaAdminClient(bootstrap_servers=[self._broker.address]) as admin:
            errors = create_acls(admin, [acl]) if create else delete_acls(admin, [acl])
            assert errors == {}
            assert not wait_for_acls(admin, [acl], exist=create)

    def _step(self, where: str) -> None:
        before = broker_says(self._broker)
        with ExitStack() as stack:
            active = list(self._clients(before, stack))
            self._declared.write(self._project, [])
            plan = self._plan()
            if plan is None:
                self._tally.results["invalid YAML"] += 1
                return
            refused = plan.refused
            if refused:
                if self._up() == 0:
                    self._tally.violations.append(f"{where}: a refused plan was deployed")
                if broker_says(self._broker) != before:
                    self._tally.violations.append(f"{where}: a refused deploy has changed access")
                self._declared.write(self._project, _ALLOWED)
                allowed = self._plan()
                if allowed is None or allowed.refused:
                    self._tally.results["refused"] += 1
                    return
                plan = allowed
            if self._up() != 0:
                self._tally.violations.append(f"{where}: the deploy of an accepted plan fails")
                return
            self._tally.results["allowed after a refusal" if refused else "deployed"] += 1
            self._judge(where, before, broker_says(self._broker), plan, active, refused=refused)

    def _judge(
        self, where: str, before: May, after: May, plan: PlanReport, active: list[ActiveClient], *, refused: bool
    ) -> None:
        access = plan.access or AccessPlan(items=[])
        for lost, changed in ((True, before - after), (False, after - before)):
            for user, operation, resource in sorted(changed):
                if not any(
                    named(access, user, each, resource, lost=lost)
                    for each in visible(changed, user, operation, resource)
                ):
                    verb = "loses" if lost else "gains"
                    self._tally.violations.append(f"{where}: {user} {verb} {operation} on {resource}, not in the plan")
            if lost:
                self._tally.losses += len(changed)
            else:
                self._tally.gains += len(changed)
        for client in active:
            if any((client.user, *need) in before - after for need in client.needs):
                self._tally.active += 1
                severe = [each for each in access.consequences if each.severity is not Severity.NOTE]
                messages = [text for each in severe for text in (each.message, *each.because)]
                if not refused:
                    self._tally.violations.append(f"{where}: {client} lost access that it uses, without a refusal")
                if not any(client.name in message for message in messages):
                    self._tally.violations.append(f"{where}: no consequence names {client.name}: {messages}")

    def _plan(self) -> PlanReport | None:
        try:
            return planned(PulumiEngine(self._project, "dev", self._shell.variables))
        except Refusal as refusal:
            if "cannot be planned" in str(refusal):
                return None
            raise

    def _up(self) -> int:
        return self._shell.topicwarden("up", "--stack", "dev", "--yes").returncode

    def _clients(self, may: May, stack: ExitStack) -> Iterator[ActiveClient]:
        """Start a transactional producer and a member of a group, of users that may do what these need."""
        for user in USERS:
            write = (user, Operation.WRITE, Resource(ResourceType.TOPIC, TOPICS[0]))
            name = TRANSACTIONAL_IDS[0]
            describe = (user, Operation.DESCRIBE, Resource(ResourceType.TRANSACTIONAL_ID, name))
            if write in may and describe in may and stack.enter_context(_transaction(self._broker, user, name)):
                yield ActiveClient(user, name, frozenset({write[1:]}))
                break
        for user in USERS:
            for group in GROUPS:
                for topic in TOPICS:
                    needs = {
                        (Operation.READ, Resource(ResourceType.GROUP, group)),
                        (Operation.READ, Resource(ResourceType.TOPIC, topic)),
                    }
                    if all((user, *need) in may for need in needs) and self._chance.chance(0.5):
                        stack.enter_context(_member(self._broker, user, group, topic))
                        yield ActiveClient(user, group, frozenset(needs))
                        return


@contextmanager
def _member(broker: AuthorizingBroker, user: str, group: str, topic: str) -> Iterator[None]:
    """Keep ``user`` an active member of ``group`` during the block."""
    host, _, port = broker.address.rpartition(":")
    consumer = Consumer(
        {
            "bootstrap.servers": f"{host}:{int(port) + 3_000}",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": user,
            "sasl.password": "secret",
            "group.id": group,
            "enable.auto.commit": False,
            "session.timeout.ms": 6_000,  # a member that has lost its access cannot leave
        }
    )
    consumer.subscribe([topic])
    deadline = time.monotonic() + 60
    while not consumer.assignment():
        assert time.monotonic() < deadline, f"{user} is no member of {group}"
        consumer.poll(0.1)
    try:
        yield  # librdkafka sends heartbeats in a thread of its own
    finally:
        consumer.close()


@contextmanager
def _transaction(broker: AuthorizingBroker, user: str, name: str) -> Iterator[bool]:
    """Keep a transaction of ``user`` open during the block; yield False if the broker refuses it."""
    producer = KafkaProducer(transactional_id=name, max_block_ms=5_000, **_client(broker, user))
    try:
        try:
            producer.init_transactions()
            producer.begin_transaction()
            producer.send(TOPICS[0], b"record").get(timeout=10)
        except KafkaError:
            yield False
        else:
            yield True
    finally:
        producer.close(timeout=0)


def _client(broker: AuthorizingBroker, user: str) -> Mapping[str, Any]:
    host, _, port = broker.address.rpartition(":")
    return {
        "bootstrap_servers": [f"{host}:{int(port) + 3_000}"],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": user,
        "sasl_plain_password": "secret",
    }


def visible(changed: May, user: str, operation: Operation, resource: Resource) -> set[Operation]:
    """Return operations; the plan must name one of them. Without Describe, the broker hides all others."""
    describe = {Operation.DESCRIBE} if (user, Operation.DESCRIBE, resource) in changed else set()
    return {operation, *describe}


def named(access: AccessPlan, user: str, operation: Operation, resource: Resource, *, lost: bool) -> bool:
    """Return whether the plan says that ``user`` loses, or gains, ``operation`` on ``resource``."""
    for principal in access.principals:
        if principal.principal in (f"User:{user}", "User:*", "everyone else"):
            for text in principal.loses if lost else principal.gains:
                if _covers(text, operation, resource):
                    return True
    return False


def _covers(text: str, operation: Operation, resource: Resource) -> bool:
    operations, _, about = text.partition(" on ")
    kind, _, name = about.partition(" from ")[0].partition(" ")
    words = operations.split(", ")
    named_operations = {Operation(word) for word in words if word != "All"}
    implied = {other for each in named_operations for other in implied_operations(each, resource.type)}
    if words != ["All"] and operation not in named_operations | implied:
        return False
    matches = resource.name.startswith(name[:-1]) if name.endswith("*") else resource.name == name
    return kind == resource.type.value and matches


def run(tools: Toolchain, folder: Path, seed: str, numbers: range, tally: Tally, *, open_without_acl: bool) -> None:
    """Run the sequences with these ``numbers`` on a broker of their own, with its files in ``folder``."""
    version = KafkaVersion(
        ".".join(next(tools.kafka_jars.glob("kafka-clients-*.jar")).stem.split("-")[2].split(".")[:2])
    )
    with (
        own_cache(folder, warm=True),
        authorizing_broker(
            version, tools.java, folder, open_without_acl=open_without_acl, jars=tools.kafka_jars
        ) as broker,
    ):
        with broker.super_user() as super_user:
            create_coordinators(super_user)
        for number in numbers:
            found = len(tally.violations)
            Sequence(broker, number, seed, folder, tally).run()
            for violation in tally.violations[found:]:
                print(violation, flush=True)
            with KafkaAdminClient(bootstrap_servers=[broker.address]) as admin:
                admin.delete_topics(list(TOPICS))
