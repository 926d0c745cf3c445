"""Test the model of the authorizer: its decisions, and what a change of ACLs gives and takes.

Cases write ACLs as texts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from topicwarden.kafka_facts.access.authorizer import Authorizer, Decision
from topicwarden.kafka_facts.access.operations import SUPPORTED_OPERATIONS, covers, implied_operations
from topicwarden.kafka_facts.access.who_may import EffectOfChange, effect_of_change
from topicwarden.model.access import (
    ANY_PRINCIPAL,
    CLUSTER,
    WILDCARD,
    Acl,
    AuthorizerSettings,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourceType,
)

_STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_ACL = re.compile(r"(\w+) (\w+) on (.+) for (\S+?)(?: from (\S+))?")


def cases(name: str) -> dict[str, dict[str, Any]]:
    """Return the cases of the file ``name`` by their names."""
    path = Path(__file__).parent / "cases" / f"{name}.yaml"
    return dict(yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader))


def acl(text: str) -> Acl:
    """Return the ACL that prints as ``text``. A name that ends with ``*`` is a prefix, unless it is ``*``."""
    match = _ACL.fullmatch(text)
    assert match, text
    permission, operation, where, principal, host = match.groups()
    target = resource(where)
    prefixed = target.name.endswith(WILDCARD) and target.name != WILDCARD
    parsed = Acl(
        principal,
        host or WILDCARD,
        Operation(operation),
        PermissionType(permission),
        target.type,
        target.name[:-1] if prefixed else target.name,
        PatternType.PREFIXED if prefixed else PatternType.LITERAL,
    )
    assert str(parsed) == text
    return parsed


def resource(text: str) -> Resource:
    """Return the resource that prints as ``text``, such as ``Topic orders``, or ``Cluster``."""
    if text == "Cluster":
        return CLUSTER
    kind, _, name = text.partition(" ")
    return Resource(ResourceType(kind), name)


def authorizer(acls: Iterable[str], settings: Mapping[str, Any]) -> Authorizer:
    """Return an authorizer with these ACLs, by default a StandardAuthorizer."""
    values = {"class_name": _STANDARD, **settings}
    values["super_users"] = frozenset(values.get("super_users", ()))
    return Authorizer([acl(text) for text in acls], AuthorizerSettings(**values))


_DECISIONS = cases("authorizer")
_QUESTION = re.compile(r"(\S+) (\w+) (Cluster|\w+ \S+)(?: from (\S+))?")


@pytest.mark.parametrize("case", _DECISIONS.values(), ids=_DECISIONS.keys())
def test_the_authorizer_decides_as_the_case_says(case: dict[str, Any]) -> None:
    model = authorizer(case.get("acls", ()), case.get("settings", {}))
    for question, expected in case.get("decisions", {}).items():
        match = _QUESTION.fullmatch(question)
        assert match, question
        principal, operation, where, host = match.groups()
        decision = model.decide(principal, Operation(operation), resource(where), host or "10.9.9.9")
        assert (question, _text(decision)) == (question, expected)
        assert decision.allowed is _allows(expected)
    for principal, expected in case.get("producer_ids", {}).items():
        decision = model.decide_producer_id(principal, "10.9.9.9")
        assert (principal, _text(decision)) == (principal, expected)
        assert decision.allowed is _allows(expected)


def _text(decision: Decision) -> str:
    return str(decision.acl or decision.reason)


def _allows(expected: str) -> bool:
    return not expected.startswith(("Deny", "no ACL allows"))


def test_implied_operations_are_those_that_the_resource_supports() -> None:
    assert implied_operations(Operation.READ, ResourceType.TOPIC) == (Operation.DESCRIBE,)
    assert implied_operations(Operation.ALTER_CONFIGS, ResourceType.CLUSTER) == (Operation.DESCRIBE_CONFIGS,)
    assert implied_operations(Operation.CREATE, ResourceType.TOPIC) == ()
    assert implied_operations(Operation.CREATE, ResourceType.GROUP) == ()
    assert implied_operations(Operation.ALL, ResourceType.TRANSACTIONAL_ID) == (
        Operation.WRITE,
        Operation.DESCRIBE,
        Operation.TWO_PHASE_COMMIT,
    )


def test_an_acl_that_denies_implies_nothing() -> None:
    denied = [
        each for each in SUPPORTED_OPERATIONS[ResourceType.GROUP] if covers(Operation.READ, PermissionType.DENY, each)
    ]
    assert denied == [Operation.READ]


_CHANGES = cases("who_may")


@pytest.mark.parametrize("case", _CHANGES.values(), ids=_CHANGES.keys())
def test_the_effect_of_changed_acls_is_what_the_case_says(case: dict[str, Any]) -> None:
    same, settings = case.get("same", []), case.get("settings", {})
    effect = effect_of_change(
        authorizer([*same, *case.get("before", ())], settings),
        authorizer([*same, *case.get("after", ())], settings),
        map(resource, case.get("resources", ())),
        case.get("hosts", ()),
    )
    for part in ("lost", "gained"):
        assert (part, [str(each) for each in getattr(effect, part)]) == (part, case.get(part, []))


def test_a_difference_names_the_acls_that_decide() -> None:
    before = authorizer(["Allow Delete on Group g for User:x"], {})
    after = authorizer(["Allow Delete on Group g for User:x", "Deny Delete on Group * for User:*"], {})
    (lost,) = effect_of_change(before, after).lost
    assert str(lost.before.acl) == "Allow Delete on Group g for User:x"
    assert str(lost.after.acl) == "Deny Delete on Group * for User:*"


def test_different_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="settings"):
        effect_of_change(authorizer([], {}), authorizer([], {"open_without_acl": True}))


_HOSTS = ("10.0.0.1", "10.0.0.2", "10.0.0.3")
_NAMES = ("a", "ab", "abc", "b", "*")
_USERS = ("User:a", "User:b", "User:c", "User:d", "User:root")
_TYPES = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER)


def _random_acl(chance: random.Random) -> Acl:
    kind = chance.choice(_TYPES)
    return Acl(
        chance.choice([*_USERS[:3], ANY_PRINCIPAL]),
        chance.choice(["*", "*", *_HOSTS[:2]]),
        chance.choice([*SUPPORTED_OPERATIONS[kind], Operation.ALL]),
        chance.choice([PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY]),
        kind,
        CLUSTER.name if kind is ResourceType.CLUSTER else chance.choice(_NAMES),
        chance.choice(list(PatternType)),
    )


@pytest.mark.parametrize("seed", range(60))
def test_every_difference_between_all_decisions_is_found(seed: int) -> None:
    """Compare with the decisions about each principal, operation, resource and address."""
    chance = random.Random(seed)
    same = {_random_acl(chance) for _ in range(chance.randrange(8))}
    settings = AuthorizerSettings("x", frozenset({"User:root"}), chance.random() < 0.5)
    before = Authorizer(same | {_random_acl(chance) for _ in range(chance.randrange(3))}, settings)
    after = Authorizer(same | {_random_acl(chance) for _ in range(chance.randrange(3))}, settings)
    resources = [Resource(kind, name) for kind in _TYPES[:2] for name in ("a", "ab", "abc", "abcd", "b", "c")] + [
        CLUSTER
    ]
    effect = effect_of_change(before, after, resources, _HOSTS)
    for lost in (True, False):
        expected = {
            (principal, operation, each, host)
            for principal in _USERS
            for each in resources
            for operation in SUPPORTED_OPERATIONS[each.type]
            for host in _HOSTS
            if _allowed(before, principal, operation, each, host) is lost
            and _allowed(after, principal, operation, each, host) is not lost
        }
        assert _reported(effect, resources, lost=lost) == expected


def _allowed(model: Authorizer, principal: str, operation: Operation, each: Resource, host: str) -> bool:
    if operation is Operation.IDEMPOTENT_WRITE:
        return model.decide_producer_id(principal, host).allowed
    return model.decide(principal, operation, each, host).allowed


def _reported(
    effect: EffectOfChange, resources: list[Resource], *, lost: bool
) -> set[tuple[str, Operation, Resource, str]]:
    reported = set()
    for each in effect.lost if lost else effect.gained:
        hosts = _HOSTS if each.hosts == ("*",) else each.hosts
        for affected in each.resources:
            if affected.is_one and affected.example in resources:
                reported |= {
                    (principal, each.operation, affected.example, host)
                    for principal in _USERS
                    if each.concerns(principal)
                    for host in hosts
                    if host in _HOSTS
                }
    return reported
