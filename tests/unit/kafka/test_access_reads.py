"""Test what is concluded from what brokers show of their access."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from topicwarden.kafka.read import acl_reads
from topicwarden.kafka.read.acl_reads import AclListing, list_acls
from topicwarden.kafka.read.authorizer_reads import authorizer_settings
from topicwarden.model.access import Acl, AuthorizerSettings, Operation, PatternType, PermissionType, ResourceType

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ({"authorizer.class.name": ""}, AuthorizerSettings("", frozenset(), open_without_acl=False)),
        ({"authorizer.class.name": STANDARD}, AuthorizerSettings(STANDARD, frozenset(), open_without_acl=False)),
        (
            {"authorizer.class.name": STANDARD, "super.users": None, "allow.everyone.if.no.acl.found": None},
            AuthorizerSettings(STANDARD, None, None),
        ),
        (
            {"authorizer.class.name": STANDARD, "super.users": "User:CN=a,OU=b; User:c", "other": "x"},
            AuthorizerSettings(STANDARD, frozenset({"User:CN=a,OU=b", "User:c"}), open_without_acl=False),
        ),
        (
            {"authorizer.class.name": STANDARD, "allow.everyone.if.no.acl.found": "TRUE"},
            AuthorizerSettings(STANDARD, frozenset(), open_without_acl=True),
        ),
        ({"authorizer.class.name": "com.example.Ours"}, AuthorizerSettings("com.example.Ours", None, None)),
        ({}, AuthorizerSettings(None, None, None)),
    ],
)
def test_a_setting_has_its_default_only_if_the_broker_shows_that_it_is_not_set(
    shown: dict[str, str | None], expected: AuthorizerSettings
) -> None:
    assert authorizer_settings(shown) == expected


def test_an_acl_of_an_unknown_type_or_operation_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def resource(kind: int, operation: int) -> Any:
        acl = SimpleNamespace(principal="User:a", host="*", operation=operation, permission_type=3)
        return SimpleNamespace(resource_type=kind, resource_name="r", pattern_type=3, acls=[acl])

    answer = SimpleNamespace(error_code=0, resources=[resource(5, 15), resource(5, 99), resource(99, 3)])
    monkeypatch.setattr(acl_reads, "send_to_broker", lambda *_: answer)
    known = Acl(
        "User:a",
        "*",
        Operation.TWO_PHASE_COMMIT,
        PermissionType.ALLOW,
        ResourceType.TRANSACTIONAL_ID,
        "r",
        PatternType.LITERAL,
    )
    admin: Any = None
    assert list_acls(admin) == AclListing(frozenset({known}), unknown=2)
