"""Test the consequences of changes of access, on the cases in ``cases/access.yaml``, and what belongs to which change.

A case has ACLs as ``Allow Read on Topic orders* for User:a from 10.0.0.7``: ``live``, ``deployed`` and ``declared``,
with their topic before a colon if a topic's YAML declares them. It also has what the cluster reports of clients, and
the ``expected`` consequences, one per line, with the reasons below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.access_parts import declared_access, deployed_access, live_access
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent
from topicwarden.kafka.read.transactions import TopicProducers, Transaction
from topicwarden.kinds.acl.consequences.self_lockout import NEEDED
from topicwarden.kinds.quota.consequences.clients_throttled import LikelyRate
from topicwarden.kinds.quota.levels import QuotaEntity
from topicwarden.model.access import (
    ACLS,
    AccessSource,
    Acl,
    AuthorizerSettings,
    DeclaredAccess,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    ScramUser,
    SecretReference,
    UndeclaredResource,
)
from topicwarden.model.planned_change import (
    AccessKind,
    AccessPlan,
    Action,
    Consequence,
    PlanReport,
    PreviewResult,
    Severity,
)
from topicwarden.model.problem import Location
from topicwarden.model.topic import Allowance, AllowedChange, Topic
from topicwarden.operations.doctor.command_permissions import COMMANDS
from topicwarden.plan import predict_access
from topicwarden.plan.access_change import access_change
from topicwarden.plan.access_context import AccessContext, OwnClient, StackTopics
from topicwarden.plan.access_evidence import AccessEvidence
from topicwarden.plan.predict_access import AccessPrediction, judge_access, own_client
from topicwarden.plan.predicted_stack import new_losses
from topicwarden.specs.stacks.stack_scope import StackScope

NOW = 1_795_000_000_000
CASES: Mapping[str, Mapping[str, Any]] = yaml.load(
    (Path(__file__).parent / "cases" / "access.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)


@pytest.mark.parametrize("name", CASES)
def test_consequences_of_a_change_of_access(name: str) -> None:
    case = CASES[name]
    plan = judged(case).plan
    assert lines(plan) == case["expected"].splitlines()
    if "principals" in case:
        assert principals(plan) == case["principals"]


@pytest.mark.parametrize("name", CASES)
def test_no_two_losses_of_a_plan_are_taken_for_the_same_one(name: str) -> None:
    losses = [
        each
        for each in judged(CASES[name]).plan.consequences
        if each.severity is Severity.DANGER or "allow:" in each.remedy
    ]
    for index, each in enumerate(losses):
        shown = planned([*losses[:index], *losses[index + 1 :]])
        assert new_losses(shown, planned(losses)) == [f"access: {each.message}"]


def planned(consequences: list[Consequence]) -> PlanReport:
    return PlanReport(
        topicwarden="",
        stack="dev",
        cluster_id=None,
        taken_at=0,
        topics=[],
        unchanged=0,
        access=AccessPlan(items=[], consequences=consequences),
        engine=PreviewResult(ran=True),
    )


def lines(plan: AccessPlan) -> list[str]:
    found = []
    for each in plan.consequences:
        location = f" ({each.location})" if each.location else ""
        found.append(f"{each.severity.value} {each.kind}: {each.message}{location}")
        found += [f"  {reason}" for reason in each.because]
        found += [f"  > {each.remedy}"] if each.remedy else []
    return found


def principals(plan: AccessPlan) -> dict[str, dict[str, list[str]]]:
    return {each.principal: {"gains": each.gains, "loses": each.loses} for each in plan.principals}


def judged(case: Mapping[str, Any]) -> AccessPrediction:
    declared = {acl_of(text): source_of(text, line) for line, text in enumerate(case.get("declared", ()), 1)}
    deployed = [acl_of(text) for text in case.get("deployed", ())]
    settings = AuthorizerSettings(
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        frozenset(case.get("super_users", ())),
        case.get("open", False),
    )
    change = access_change(
        declared_access(
            declared,
            {
                "quotas": {key: (rates, Location(FILES[1])) for key, rates in quotas(case, "quotas").items()},
                "users": {key: (user, Location(FILES[2])) for key, user in users(case, "users").items()},
                "group_configs": {
                    group: (values, Location("access/all.yaml"))
                    for group, values in case.get("group_configs", {}).items()
                },
            },
            allow=allowances(case.get("allow", ())),
        ),
        deployed_access(
            frozenset(deployed),
            {
                "quotas": quotas(case, "deployed_quotas"),
                "users": users(case, "deployed_users"),
                "group_configs": case.get("deployed_group_configs", {}),
            },
            homes={
                **{acl_of(text): homes_of(text) for text in case.get("deployed", ())},
                **dict.fromkeys(quotas(case, "deployed_quotas"), (FILES[1],)),
                **dict.fromkeys(users(case, "deployed_users"), (FILES[2],)),
            },
            allow=allowances(case.get("deployed_allow", ())),
            passwords=frozenset(
                key for key in users(case, "deployed_users") if key[0] not in case.get("adopted_users", ())
            ),
            iterations={key: case.get("wrote", user.iterations) for key, user in users(case, "deployed_users").items()},
            undeclared=tuple(
                UndeclaredResource(f"urn:{text}", acl_of(text), f"ACL {acl_of(text)}", tainted=key == "tainted")
                for key in ("undeclared", "tainted")
                for text in case.get(key, ())
            ),
        ),
        live_access(
            None if "missing" in case else frozenset(map(acl_of, case.get("live", ()))),
            {
                "quotas": quotas(case, "live_quotas"),
                "users": users(case, "live_users"),
                "group_configs": case.get("live_group_configs", {}),
            },
            {1: settings},
            missing=({"acls": case["missing"]} if "missing" in case else {})
            | ({"group_configs": case["hidden_group"]} if "hidden_group" in case else {}),
            security_disabled="no authorizer" in case.get("missing", ""),
        ),
        destroying=case.get("destroying", False),
    )
    topics = case.get("topics", {"orders": {"owner": "team-orders"}})
    live = case.get("live_topics", list(topics))
    stack = StackTopics(
        {name: topic.get("owner") for name, topic in topics.items()},
        {name: Location(f"topics/{name}.yaml", 4) for name in topics},
        {name: frozenset(map(AllowedChange, topic.get("allow", ()))) for name, topic in topics.items()},
        frozenset(live),
    )
    own = case.get("own", "User:deployer")
    scope = StackScope(principals=tuple(case.get("scope", ())), groups=tuple(case.get("scope_groups", ())))
    client = OwnClient(own, "SCRAM-SHA-512") if own else OwnClient(unknown="OAUTHBEARER gets it from a token")
    return judge_access(change, evidence_of(case, live), stack, client, now=NOW, scope=scope)


def evidence_of(case: Mapping[str, Any], live: Sequence[str]) -> AccessEvidence:
    groups = [
        ConsumerGroup(
            group["name"],
            group.get("state", "Stable"),
            group.get("members", 1),
            {(topic, 0): 5 for topic in group.get("topics", ())},
            frozenset((topic, 0) for topic in group.get("assigned", ())),
            hosts=frozenset(group.get("hosts", ())),
        )
        for group in case.get("groups", ())
    ]
    transactions = [
        Transaction(
            each["name"],
            each.get("state", "Ongoing"),
            each["producer"],
            frozenset(each.get("topics", ())),
            started=NOW - 60_000,
        )
        for each in case.get("transactions", ())
    ]
    producers = {
        topic: TopicProducers(dict.fromkeys(entry.get("ids", ()), NOW - 1_000), entry.get("missing", ""))
        for topic, entry in case.get("producers", {}).items()
    }
    newest = NOW - case["newest"] if "newest" in case else None
    extent = PartitionExtent(0, 10, 10, newest, None, None)
    known = {
        ResourceType.TOPIC: {*case.get("known_topics", ())},
        ResourceType.GROUP: {group.name for group in groups},
        ResourceType.TRANSACTIONAL_ID: {each.name for each in transactions},
    }
    return AccessEvidence(
        {name: LiveTopic(Topic(name, 1, 1), "id", {}, (), {0: extent}) for name in live},
        tuple(groups),
        {group["name"]: group["lag"] for group in case.get("groups", ()) if "lag" in group},
        tuple(transactions),
        producers,
        {(entity(rate["entity"]), rate["key"]): rate["rate"] for rate in case.get("rates", ())},
        case.get("groups_missing", ""),
        case.get("transactions_missing", ""),
        known,
        {
            "clients-throttled": {
                (entity(rate["entity"]), rate["key"]): LikelyRate(rate["rate"], ("orders",), 3)
                for rate in case.get("likely_rates", ())
            }
        },
    )


def acl_of(text: str) -> Acl:
    """Return the ACL that ``str`` writes so."""
    permission, operation, _, kind, rest = text.partition(": ")[2 * (": " in text)].split(" ", 4)
    name = ""
    if kind != "Cluster":
        name, _, rest = rest.partition(" ")
    principal, _, host = rest.removeprefix("for ").partition(" from ")
    prefixed = name.endswith("*") and name != "*"
    return Acl(
        principal,
        host or "*",
        Operation(operation),
        PermissionType(permission),
        ResourceType(kind),
        "kafka-cluster" if kind == "Cluster" else name[: -1 if prefixed else None],
        PatternType.PREFIXED if prefixed else PatternType.LITERAL,
    )


def topic_of(text: str) -> str:
    """Return the topic whose YAML declares the ACL; empty for a file below ``access/``."""
    return text.partition(": ")[0] if ": " in text else ""


def homes_of(text: str) -> tuple[str, ...]:
    """Return where a deployed ACL was declared: in the topic, in the file, or in both of `TOPIC+FILE: …`."""
    return tuple((topic_of(text) or FILES[0]).split("+"))


def source_of(text: str, line: int) -> tuple[AccessSource, ...]:
    topic = topic_of(text)
    return (
        AccessSource(Location(f"topics/{topic}.yaml" if topic else "access/all.yaml", line), "acls", topic or None),
    )


def quotas(case: Mapping[str, Any], key: str) -> dict[QuotaEntity, dict[str, float]]:
    return {entity(text): values for text, values in case.get(key, {}).items()}


def entity(text: str) -> QuotaEntity:
    return tuple(sorted((kind, name or None) for kind, _, name in (part.partition("=") for part in text.split(","))))


def users(case: Mapping[str, Any], key: str) -> dict[tuple[str, str], ScramUser]:
    declared = [
        ScramUser(
            each["name"],
            each.get("mechanism", "SCRAM-SHA-512"),
            each.get("iterations", 8192),
            SecretReference(*each["password"].split(":")) if "password" in each else None,
        )
        for each in case.get(key, ())
    ]
    return {(user.name, user.mechanism): user for user in declared}


FILES = ("access/all.yaml", "access/quotas.yaml", "access/users.yaml")


def allowances(words: Sequence[str] | Mapping[str, Sequence[str]]) -> dict[str, frozenset[Allowance]]:
    """Return what each file allows; without files, what each of them allows."""
    by_file = words if isinstance(words, Mapping) else dict.fromkeys(FILES, words) if words else {}
    return {file: frozenset(Allowance(AllowedChange(word)) for word in by_file[file]) for file in by_file}


def test_a_change_creates_adopts_and_deletes_only_what_is_declared_or_in_the_state() -> None:
    kept, created, adopted, deleted, foreign, drifted = (
        acl_of(f"Allow Read on Topic {name} for User:a")
        for name in ("kept", "created", "adopted", "deleted", "foreign", "drifted")
    )
    source = (AccessSource(Location("access/a.yaml"), "acls"),)
    change = access_change(
        declared_access(dict.fromkeys((kept, created, adopted, drifted), source)),
        deployed_access(frozenset({kept, deleted, drifted})),
        live_access(frozenset({kept, adopted, deleted, foreign})),
    )
    assert change.of(ACLS) == {
        created: Action.CREATE,
        adopted: Action.ADOPT,
        drifted: Action.DRIFT,
        deleted: Action.DELETE,
    }
    assert change.after == {kept, created, adopted, foreign}
    assert change.foreign() == {AccessKind.ACL: 1}
    assert change.unchanged() == 1


def test_quotas_users_and_settings_of_groups_are_compared_by_what_is_declared() -> None:
    file = Location("access/a.yaml")
    limited, default = (("user", "a"),), (("user", None),)
    first, second = (ScramUser("a", "SCRAM-SHA-512", 8192, SecretReference("p", version)) for version in "12")
    change = access_change(
        declared_access(
            parts={
                "quotas": {limited: ({"producer_byte_rate": 10.0}, file), default: ({"consumer_byte_rate": 5.0}, file)},
                "users": {("a", "SCRAM-SHA-512"): (second, file)},
                "group_configs": {"g": ({"consumer.session.timeout.ms": "60000"}, file)},
            },
        ),
        deployed_access(
            parts={
                "quotas": {limited: {"producer_byte_rate": 10.0}},
                "users": {("a", "SCRAM-SHA-512"): first},
            }
        ),
        live_access(
            frozenset(),
            {
                "quotas": {
                    limited: {"producer_byte_rate": 20.0, "request_percentage": 1.0},
                    default: {"consumer_byte_rate": 5.0},
                },
                "users": {("a", "SCRAM-SHA-512"): ScramUser("a", "SCRAM-SHA-512", 8192)},
                "group_configs": {},
            },
        ),
    )
    items = {item.name: (item.action, item.before, item.after) for item in change.items}
    assert items == {
        "user a": (Action.DRIFT, "producer_byte_rate 20", "producer_byte_rate 10"),
        "default user": (Action.ADOPT, "consumer_byte_rate 5", "consumer_byte_rate 5"),
        "a (SCRAM-SHA-512)": (
            Action.UPDATE,
            "8,192 iterations, password not known",  # no deploy has written it
            "8,192 iterations, password p version 2",
        ),
        "g": (Action.CREATE, None, "consumer.session.timeout.ms 1m"),
    }


@pytest.mark.parametrize("kept", [True, False])
def test_a_rate_in_the_state_that_no_deploy_has_declared_is_not_removed(kept: bool) -> None:
    entity, file = (("user", "a"),), Location("access/a.yaml")
    rates = {"producer_byte_rate": 1.0, "request_percentage": 77.0}
    resource = UndeclaredResource("urn", entity, "quota of user a", registered=True)
    declared = rates if kept else {"producer_byte_rate": 1.0}
    change = access_change(
        declared_access(parts={"quotas": {entity: (declared, file)}}),
        deployed_access(parts={"quotas": {entity: rates}}, homes={entity: (file.file,)}, undeclared=(resource,)),
        live_access(frozenset(), {"quotas": {entity: rates}}),
    )
    assert change.undeclared == (() if kept else (resource,))


def test_the_allowance_that_a_plan_needs_is_named_with_its_file() -> None:
    case = CASES["a group stops and the YAML of the topic allows it"]
    assert judged(case).needed == {("orders", AllowedChange.REVOKE_ACCESS)}
    assert judged(case).plan.needs == [AllowedChange.REVOKE_ACCESS]


def test_a_change_is_judged_once_however_many_topics_allow_it(monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES["a group stops and the YAML of the topic allows it"]
    others = {f"other-{number}": {"allow": ["revoke-access"]} for number in range(9)}
    contexts, consequences = list[AccessContext](), predict_access._consequences

    def judge(context: AccessContext) -> list[Consequence]:
        contexts.append(context)
        return consequences(context)

    monkeypatch.setattr(predict_access, "_consequences", judge)
    assert judged({**case, "topics": {**case["topics"], **others}}).needed == {("orders", AllowedChange.REVOKE_ACCESS)}
    assert len(contexts) == 1


def test_a_hidden_part_of_the_cluster_is_reported_as_not_visible() -> None:
    case = CASES["the ACLs of the cluster are hidden"]
    assert judged(case).unseen == ("the ACLs of the cluster: this user lacks Describe on the Cluster resource",)


def test_a_lockout_is_about_every_operation_that_the_commands_need() -> None:
    needed = {
        (each.permission.resource.value, each.permission.operation.value)
        for command, row in COMMANDS.items()
        if command != "redrive"  # its user can be another one
        for each in row
    }
    guarded = {(kind.value, operation.value) for kind, operations in NEEDED.items() for operation in operations}
    names = ("TransactionalId", "Describe")  # without it, a plan knows producers by their numbers
    assert needed - {names} <= guarded


@pytest.mark.parametrize(
    ("connection", "principal"),
    [
        (Connection(("a:1",), sasl_mechanism="SCRAM-SHA-512", username="ops"), "User:ops"),
        (Connection(("a:1",), sasl_mechanism="PLAIN", username="ops"), "User:ops"),
        (Connection(("a:1",), tls=False), "User:ANONYMOUS"),
        (Connection(("a:1",), client_cert="PEM"), None),
        (Connection(("a:1",), sasl_mechanism="OAUTHBEARER", username="client"), None),
    ],
)
def test_the_principal_of_the_stack_follows_from_its_connection(connection: Connection, principal: str | None) -> None:
    assert own_client(connection).principal == principal


def test_a_removed_quota_shows_the_one_of_the_next_level() -> None:
    own, default = (("user", "a"),), (("user", None),)
    change = access_change(
        DeclaredAccess(),
        deployed_access(parts={"quotas": {own: {"producer_byte_rate": 20.0}}}),
        live_access((), {"quotas": {own: {"producer_byte_rate": 20.0}, default: {"producer_byte_rate": 10.0}}}),
    )
    items = {item.name: (item.action, item.before, item.after) for item in change.items}
    assert items == {"user a": (Action.DELETE, "producer_byte_rate 20", "producer_byte_rate 10 (of default user)")}
