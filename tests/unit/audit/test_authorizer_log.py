"""Test what the lines of authorizer logs say; ``cases/authorizer_log.yaml`` has the lines."""

from __future__ import annotations

import re

import pytest

from tests.support.authorizer_lines import EXPLANATIONS, READABLE, UNREADABLE, ReadableLine, decision_in_line
from topicwarden.audit.authorizer_log.grammar import EXPLANATION, TIME
from topicwarden.kafka_facts.access.authorizer import Authorizer, logged_acl, logged_rule
from topicwarden.model.access import (
    Acl,
    AuthorizerSettings,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourceType,
)


@pytest.mark.parametrize("case", READABLE, ids=lambda case: case.name)
def test_a_line_says_who_was_allowed_or_denied_what(case: ReadableLine) -> None:
    found = decision_in_line(case.line)
    assert found is not None
    _, decision = found
    assert [
        decision.principal,
        decision.host,
        "allowed" if decision.allowed else "denied",
        decision.operation,
        str(decision.resource),
        decision.request,
        decision.rule,
        *([] if decision.effective else ["TRACE"]),
    ] == case.expected
    assert decision.zone == case.zone


@pytest.mark.parametrize("line", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_line_with_no_or_several_readings_is_unreadable(line: str) -> None:
    if "impossible date" not in next(name for name, each in UNREADABLE.items() if each == line):
        assert decision_in_line(line) is None
    assert not is_explanation(line)


@pytest.mark.parametrize("line", EXPLANATIONS.values(), ids=EXPLANATIONS.keys())
def test_explanations_of_the_old_authorizer_are_known(line: str) -> None:
    assert decision_in_line(line) is None
    assert is_explanation(line)


@pytest.mark.parametrize("case", READABLE, ids=lambda case: case.name)
def test_no_beginning_of_a_line_says_anything_else(case: ReadableLine) -> None:
    whole = decision_in_line(case.line)
    cut = {decision_in_line(case.line[:length]) for length in range(len(case.line))}
    assert cut <= {None, whole}


@pytest.mark.parametrize("case", READABLE, ids=lambda case: case.name)
def test_no_end_of_a_line_says_anything(case: ReadableLine) -> None:
    assert {decision_in_line(case.line[start:]) for start in range(2, len(case.line))} == {None}


def test_a_rule_is_compared_in_the_words_of_the_log() -> None:
    acl = Acl("User:a b", "*", Operation.READ, PermissionType.ALLOW, ResourceType.TOPIC, "pay", PatternType.PREFIXED)
    assert any(case.expected[6] == logged_acl(acl) for case in READABLE)
    settings = AuthorizerSettings(super_users=frozenset({"User:root"}))
    model, topic = Authorizer([acl], settings), Resource(ResourceType.TOPIC, "payments")
    rules = [
        logged_rule(model.decide(principal, Operation.READ, topic, "10.0.0.7"))
        for principal in ("User:a b", "User:root", "User:other")
    ]
    assert rules == [logged_acl(acl), "SuperUser", "DefaultDeny"]
    is_open = Authorizer([], AuthorizerSettings(open_without_acl=True))
    assert logged_rule(is_open.decide("User:x", Operation.READ, topic, "10.0.0.7")) == "DefaultAllow"


def is_explanation(line: str) -> bool:
    match = re.match(TIME, line)
    return match is not None and re.match(EXPLANATION, match[2]) is not None
