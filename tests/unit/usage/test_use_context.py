"""Test what decides who may use a topic, besides the cases of the checks."""

from __future__ import annotations

from dataclasses import replace

from tests.support.access_parts import declared_access, live_access
from topicwarden.model.access import (
    Acl,
    AuthorizerSettings,
    DeclaredAccess,
    LiveAccess,
    Operation,
    PermissionType,
    ResourceType,
)
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope
from topicwarden.usage.use_context import UseContext

READ = Acl("User:billing", "*", Operation.READ, PermissionType.ALLOW, ResourceType.TOPIC, "t")
OTHER = replace(READ, resource_name="other")
LIVE = live_access(acls=frozenset({READ}), settings={1: AuthorizerSettings("standard", frozenset(), False)})


def deployed(live: LiveAccess | None, scope: StackScope = EVERY_TOPIC) -> str:
    return UseContext(declared_access({READ: ()}), live, scope).deployed("t")


def test_the_digest_of_live_acls_changes_with_a_deploy_to_the_topic_and_with_the_scope() -> None:
    assert deployed(LIVE) == deployed(replace(LIVE, parts={"acls": {READ: True, OTHER: True}}))
    others = [
        deployed(LIVE),
        deployed(replace(LIVE, parts={"acls": {}})),
        deployed(LIVE, StackScope(groups=("billing*",))),
        deployed(live_access(security_disabled=True)),
    ]
    assert len(set(others)) == len(others)


def test_the_digest_of_live_acls_is_empty_if_they_are_not_known() -> None:
    assert deployed(None) == deployed(replace(LIVE, parts={})) == ""


def test_the_digest_of_live_acls_is_empty_without_declared_access_for_which_audits_do_not_read_them() -> None:
    assert UseContext(DeclaredAccess(), LIVE).deployed("t") == ""
