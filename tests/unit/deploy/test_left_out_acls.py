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
        ({DENY: FAILED, ALLOW: CREATED}, 1, "1 ACLs were refused"),
        ({DENY: LEFT_OUT, ALLOW: CREATED}, 1, "does not create 1 declared ACLs that deny"),
    ],
)
def test_topics_wait_for_no_grant_that_the_command_leaves_out(
    monkeypatch: pytest.MonkeyPatch, answers: dict[Acl, Registered], registered: int, error: str | None
) -> None:
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
        access._prepared = known()
        urn = SimpleNamespace(future=lambda: known("urn"))
        access._denials = SimpleNamespace(urn=urn) if DENY in answers else None
        await access._register_acls()

    monkeypatch.setattr(access_resources, "register", register)
    if error is None:
        asyncio.run(deploy())
    else:
        with pytest.raises(pulumi.RunError, match=error):
            asyncio.run(deploy())
    assert len(seen) == registered
