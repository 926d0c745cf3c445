"""Test the YAML of imported access: it is what a person would write, and declares exactly what the cluster has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.access_parts import live_access
from tests.support.projects import project_of
from topicwarden.extensions.interchange.import_session import open_session
from topicwarden.extensions.interchange.live_access import AccessDraft, draft_access
from topicwarden.kafka_facts.access import roles
from topicwarden.kafka_facts.access.roles import NamePattern, StreamsApplication
from topicwarden.kinds.quota.change import QUOTAS
from topicwarden.kinds.scram_user.change import USERS
from topicwarden.model.access import (
    Acl,
    Grant,
    LiveAccess,
    Operation,
    OperationGrant,
    PatternType,
    PermissionType,
    ResourceType,
    ScramUser,
)
from topicwarden.model.topic import Topic
from topicwarden.policies.check_specs import check

ORDERS = Topic("orders.placed", 3, 1)
BILLING = Grant("User:billing", name="billing")
TRANSACTIONS = Grant("User:CN=orders,OU=b", "10.0.0.7", "orders-", True)
ACLS = frozenset(
    {
        *roles.produce("orders.placed", TRANSACTIONS),
        *roles.consume("orders.placed", BILLING),
        *roles.operations(
            OperationGrant("User:ops", (Operation.DESCRIBE_CONFIGS,)), ResourceType.TOPIC, NamePattern("orders.placed")
        ),
        *roles.streams(StreamsApplication("User:fraud", "fraud")),
        *roles.operations(
            OperationGrant("User:ops", (Operation.DELETE, Operation.READ), PermissionType.DENY),
            ResourceType.GROUP,
            NamePattern("audit-", prefix=True),
        ),
        Acl("User:ops", "*", Operation.DESCRIBE, PermissionType.ALLOW, ResourceType.CLUSTER, "kafka-cluster"),
        Acl("User:*", "*", Operation.READ, PermissionType.ALLOW, ResourceType.TOPIC, "public.", PatternType.PREFIXED),
    }
)
LIVE = live_access(
    acls=ACLS,
    parts={
        "quotas": {
            (("client-id", None), ("user", "billing")): {"producer_byte_rate": 1048576.0, "request_percentage": 12.5},
            (("ip", None),): {"connection_creation_rate": 7.0},
        },
        "users": {
            ("billing", "SCRAM-SHA-256"): ScramUser("billing", "SCRAM-SHA-256", 8192),
            ("billing", "SCRAM-SHA-512"): ScramUser("billing", "SCRAM-SHA-512", 8192),
        },
        "group_configs": {"billing": {"consumer.session.timeout.ms": "50000"}, "empty": {}},
    },
)
TOPIC_FILE = """\
partitions: 3
replication_factor: 1
access:
  produce:
    - {principal: "User:CN=orders,OU=b", transactional_id: orders-, prefix: true, host: 10.0.0.7}
  consume:
    - {principal: User:billing, group: billing}
  acls:
    - {principal: User:ops, operations: [DescribeConfigs]}
"""
ACCESS_FILE = """\
applications:
  fraud: {type: streams, principal: User:fraud, application_id: fraud}
groups:
  - {group: audit-, prefix: true, principal: User:ops, operations: [Delete, Read], permission: Deny}
cluster:
  - {principal: User:ops, operations: [Describe]}
acls:
  - {resource: Topic, name: public., pattern: Prefixed, principal: "User:*", operations: [Read]}
# Kafka never shows a password. Before the next deploy, write the one that is in use for each user:
# pulumi config set --secret NAME. A deploy keeps the password of a user that exists, until its version changes.
users:
  billing: {mechanism: [SCRAM-SHA-256, SCRAM-SHA-512], iterations: 8192, password: {secret: billing-password, version: 1}}
quotas:
  - {user: billing, default: [client_id], producer_byte_rate: 1MiB, request_percentage: 12.5}
  - {default: [ip], connection_creation_rate: 7}
group_configs:
  billing: {consumer.session.timeout.ms: 50s}
"""  # noqa: E501 -- a line of a file


def imported(folder: Path, live: LiveAccess, patterns: tuple[str, ...] = (), stacks: int = 1) -> AccessDraft:
    """Write the files of an import of the topic ``ORDERS`` with its access."""
    project = project_of(folder, {})
    for number in range(1, stacks):
        (project.root / "stacks" / f"Pulumi.other{number}.yaml").write_text("config: {}\n", encoding="utf-8")
    session = open_session(project, "dev", patterns)
    draft = draft_access(session, live, [ORDERS.name], "dev")
    topic = replace(ORDERS, access=draft.topics[ORDERS.name])
    session.write([*session.draft_files([topic], "dev").files, *draft.files])
    return draft


def test_access_becomes_the_yaml_that_a_person_would_write(tmp_path: Path) -> None:
    draft = imported(tmp_path, LIVE)
    assert (tmp_path / "topics" / "orders" / "orders.placed.yaml").read_text(encoding="utf-8") == TOPIC_FILE
    assert (tmp_path / "access" / "imported.yaml").read_text(encoding="utf-8") == ACCESS_FILE
    assert draft.refused == {}


@pytest.mark.parametrize("stacks", [1, 2])
def test_imported_access_is_declared_exactly_and_is_not_imported_again(tmp_path: Path, stacks: int) -> None:
    imported(tmp_path, LIVE, stacks=stacks)
    session = open_session(project_of(tmp_path, {}), "dev", ())
    assert session.access.acls.keys() == ACLS
    assert session.access.part(QUOTAS) == LIVE.part(QUOTAS)
    assert session.access.part(USERS).keys() == (LIVE.part(USERS) or {}).keys()
    assert draft_access(session, LIVE, ["orders.placed"], "dev") == AccessDraft()
    if stacks == 2:
        assert open_session(session.project, "other1", ()).access.empty


def test_names_with_characters_that_do_not_print_are_imported(tmp_path: Path) -> None:
    """A joined emoji has a character that needs an escape, beside others that YAML cannot escape as JSON does."""
    name = "\U0001f468\u200d\U0001f469"
    acls = {
        *roles.consume(ORDERS.name, Grant(f"User:{name}", name=name)),
        Acl(f"User:{name}", "*", Operation.DELETE, PermissionType.ALLOW, ResourceType.GROUP, name),
    }
    draft = imported(tmp_path, live_access(acls=frozenset(acls)))
    assert draft.refused == {}
    assert open_session(project_of(tmp_path, {}), "dev", ()).access.acls.keys() == acls


def test_with_patterns_only_the_access_of_their_topics_is_imported(tmp_path: Path) -> None:
    draft = imported(tmp_path, LIVE, ("orders.*",))
    assert draft.topics.keys() == {"orders.placed"}
    assert draft.files == ()


def test_only_access_in_the_scope_of_the_stack_is_imported(tmp_path: Path) -> None:
    project = project_of(
        tmp_path, {}, "config: {'topicwarden:scope': {topics: ['orders.*'], principals: ['User:b*']}}\n"
    )
    draft = draft_access(open_session(project, "dev", ()), LIVE, ["orders.placed"], "dev")
    assert draft.topics["orders.placed"].consume == (BILLING,)
    assert draft.topics["orders.placed"].produce == ()
    assert "fraud" not in draft.files[0].text
    assert "ip" not in draft.files[0].text


def test_settings_of_groups_outside_the_scope_are_not_imported(tmp_path: Path) -> None:
    project = project_of(tmp_path, {}, "config: {'topicwarden:scope': {topics: ['orders.*'], groups: ['orders-*']}}\n")
    settings = {"consumer.session.timeout.ms": "50000"}
    live = live_access(frozenset(), {"group_configs": {"orders-billing": settings, "audit-trail": settings}})
    draft = draft_access(open_session(project, "dev", ()), live, (), "dev")
    assert draft.files[0].text == "group_configs:\n  orders-billing: {consumer.session.timeout.ms: 50s}\n"


def test_what_yaml_cannot_declare_is_reported_and_the_rest_is_imported(tmp_path: Path) -> None:
    odd = {
        Acl("nobody", "*", Operation.READ, PermissionType.ALLOW, ResourceType.TOPIC, "orders.placed"),
        Acl("User:a", "host.example", Operation.READ, PermissionType.ALLOW, ResourceType.GROUP, "g"),
        Acl("User:a", "2001:db8::1", Operation.DELETE, PermissionType.ALLOW, ResourceType.GROUP, "g"),
    }
    live = replace(
        LIVE,
        parts={
            **LIVE.parts,
            "acls": dict.fromkeys(ACLS | odd, True),
            "quotas": {(("user", "x"),): {"unknown_rate": 1.0}},
            "group_configs": {"g": {"unknown.setting": "1"}},
        },
        missing={"users": "this user lacks Describe on the Cluster resource"},
    )
    draft = imported(tmp_path, live)
    assert draft.refused["users"] == "this user lacks Describe on the Cluster resource"
    assert "write User:nobody" in draft.refused["access of orders.placed"]
    reasons = [reason for name, reason in draft.refused.items() if name.startswith("access ")]
    assert len(reasons) == 5
    assert open_session(project_of(tmp_path, {}), "dev", ()).access.acls.keys() == ACLS


def test_the_imported_files_pass_a_check(tmp_path: Path) -> None:
    imported(tmp_path, LIVE)
    project = project_of(tmp_path, {})
    assert [str(problem) for problem in check(project, ["dev"]).errors] == []
