"""Test what a deploy of some resources only (``--target``, ``--exclude``) does about the ACLs that it leaves out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest

from tests.support.access_parts import declared_access
from topicwarden.deploy import access_resources
from topicwarden.deploy.access_resources import AccessResources
from topicwarden.deploy.lean_registration import LeanResource, Registered
from topicwarden.model.access import Acl, Operation, PermissionType, ResourceType

ALLOW, OTHER = (
    Acl(user, "*", Operation.READ, PermissionType.ALLOW, ResourceType.TOPIC, "orders") for user in ("User:a", "User:b")
)
DENY = Acl("User:c", "*", Operation.READ, PermissionType.DENY, ResourceType.TOPIC, "orders")
CREATED, LEFT_OUT, FAILED = Registered({"id": "acl"}, False), Registered({}, False), Registered({}, True)


@pytest.mark.parametrize(
    ("answers", "registered", "error"),
    [
        ({ALLOW: CREATED, OTHER: LEFT_OUT}, 2, None),
        ({ALLOW: LEFT_OUT, OTHER: LEFT_OUT}, 2, None),
        ({ALLOW: CREATED, OTHER: FAILED}, 2, "1 ACLs were refused"),
        ({DENY: CREATED, ALLOW: LEFT_OUT}, 2, None),
        ({ALLOW: CREATED, OTHER: CREATED}, 2, None),
        ({DENY: FAILED, ALLOW: CREATED}, 1, "1 ACLs were refused"),
        ({DENY: LEFT_OUT, ALLOW: CREATED}, 1, "does not create 1 declared ACLs that deny"),
    ],
)
def test_topics_wait_for_no_grant_that_the_command_leaves_out(
    monkeypatch: pytest.MonkeyPatch, answers: dict[Acl, Registered], registered: int, error: str | None
) -> None:
    assert len(_deployed(monkeypatch, answers, frozenset(), error)) == registered


@pytest.mark.parametrize(
    ("answers", "together", "error"),
    [
        ({ALLOW: CREATED, OTHER: LEFT_OUT}, {ALLOW, OTHER}, "also the 1 that this command leaves out"),
        ({DENY: CREATED, OTHER: LEFT_OUT}, {DENY, OTHER}, "also the 1 that this command leaves out"),
        ({ALLOW: LEFT_OUT, OTHER: LEFT_OUT}, {ALLOW, OTHER}, None),
        ({ALLOW: CREATED, OTHER: CREATED}, {ALLOW, OTHER}, None),
        ({ALLOW: CREATED, OTHER: LEFT_OUT}, {ALLOW}, None),  # the other one exists already
        ({ALLOW: CREATED, OTHER: LEFT_OUT}, {OTHER}, None),  # the first one is in the state
    ],
)
def test_a_command_that_leaves_out_some_of_the_acls_that_come_together_fails(
    monkeypatch: pytest.MonkeyPatch, answers: dict[Acl, Registered], together: set[Acl], error: str | None
) -> None:
    _deployed(monkeypatch, answers, frozenset(together), error)


def _deployed(
    monkeypatch: pytest.MonkeyPatch, answers: dict[Acl, Registered], together: frozenset[Acl], error: str | None
) -> list[str]:
    """Register the ACLs, to which the engine gives ``answers``; return the principals of those that were sent."""
    seen: list[str] = []

    async def register(resources: Iterable[LeanResource], *_: Any) -> list[Registered]:
        of_principal = {acl.principal: answer for acl, answer in answers.items()}
        principals = [each.properties["aclPrincipal"] for each in resources]
        seen.extend(principals)
        return [of_principal[each] for each in principals]

    async def known(value: Any = None) -> Any:
        return value

    async def deploy() -> None:
        access: Any = object.__new__(AccessResources)
        access._access, access._kafka, access._root = declared_access(acls=dict.fromkeys(answers, ())), None, None
        access._prepared, access._together = known(), together
        urn = SimpleNamespace(future=lambda: known("urn"))
        access._denials = SimpleNamespace(urn=urn) if DENY in answers else None
        await access._register_acls()

    monkeypatch.setattr(access_resources, "register", register)
    if error is None:
        asyncio.run(deploy())
    else:
        with pytest.raises(pulumi.RunError, match=error):
            asyncio.run(deploy())
    return seen
