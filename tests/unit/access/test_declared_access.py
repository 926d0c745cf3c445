"""Test which access a stack declares, merged from topics, defaults, stacks, and the files below ``access/``."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.cases import POLICY_CASES, TODAY, find_case, project_of
from tests.support.command import topicwarden
from topicwarden.kinds.group_config.change import GROUP_CONFIGS
from topicwarden.kinds.quota.change import QUOTAS
from topicwarden.kinds.quota.levels import QuotaClient, QuotaEntity, enforced, enforced_limit
from topicwarden.kinds.scram_user.change import USERS
from topicwarden.model.access import DeclaredAccess, SecretReference
from topicwarden.model.field_types import ip_address
from topicwarden.model.topic import Allowance, AllowedChange
from topicwarden.operations.check import check_topics
from topicwarden.policies.check_specs import check
from topicwarden.report.problems import FORMATS, render
from topicwarden.specs.editor_schema import access_schema, spec_schema
from topicwarden.specs.yaml_nodes import read_documents

SHOWN = """\
Allow AlterConfigs on Topic a for Group:ops     implies DescribeConfigs  topics/a.yaml:5:10 (acls of a)
Allow DescribeConfigs on Topic a for Group:ops                           topics/a.yaml:5:10 (acls of a)
Allow Read on Topic a for User:audit            implies Describe         topics/_defaults.yaml:3:20 (consume of a)
Allow Read on Topic a for User:c                implies Describe         access/a.yaml:3:3 (the application main)
Allow Write on Topic a for User:c               implies Describe         access/a.yaml:3:3 (the application main)
Allow Write on Topic a for User:dev             implies Describe         topics/a.yaml:6:35 (produce of a)
Allow Read on Topic a for User:f                implies Describe         access/a.yaml:2:3 (the application fraud)
Allow Read on Group audit for User:audit        implies Describe         topics/_defaults.yaml:3:20 (consume of a)
"""


@pytest.fixture
def declared(tmp_path: Path) -> dict[str, DeclaredAccess]:
    project = project_of(find_case(POLICY_CASES, "good", "access-declared"), tmp_path)
    return dict(check(project, project.stack_names(), TODAY).access)


def _sources(access: DeclaredAccess) -> dict[str, list[str]]:
    return {
        str(acl): [f"{each.description} at {each.location}" for each in sources] for acl, sources in access.acls.items()
    }


def test_an_acl_has_the_source_of_each_declaration(declared: dict[str, DeclaredAccess]) -> None:
    sources = _sources(declared["prod"])
    assert sources["Allow Write on Topic a for User:CN=orders,OU=apps"] == ["produce of a at topics/a.yaml:3:7"]
    assert sources["Allow Read on Topic a for User:audit"] == ["consume of a at topics/_defaults.yaml:3:20"]
    assert sources["Allow Read on Group audit for User:audit"] == [
        "consume of a at topics/_defaults.yaml:3:20",
        "consume of b at topics/_defaults.yaml:3:20",
    ]
    assert sources["Allow Write on TransactionalId x|y, z for User:b from 0:0:0:0:0:0:0:1"] == [
        "produce of a at topics/a.yaml:4:7"
    ]
    assert sources["Allow AlterConfigs on Topic a for Group:ops"] == ["acls of a at topics/a.yaml:5:10"]
    assert sources["Allow Delete on Group billing* for User:ops"] == ["groups at access/a.yaml:4:10"]
    assert sources["Allow Describe on TransactionalId a b* for User:ops"] == ["acls at access/a.yaml:6:8"]
    assert sources["Allow Write on TransactionalId fraud-* for User:f"] == [
        "the application fraud at access/a.yaml:2:3"
    ]


def test_a_list_of_a_stack_replaces_the_list_for_all_stacks(declared: dict[str, DeclaredAccess]) -> None:
    prod, dev = _sources(declared["prod"]), _sources(declared["dev"])
    assert [acl for acl in prod if acl not in dev] == [
        "Allow Write on Topic a for User:CN=orders,OU=apps",
        "Allow Write on Topic a for User:b from 0:0:0:0:0:0:0:1",
        "Allow Write on TransactionalId x|y, z for User:b from 0:0:0:0:0:0:0:1",
        "Allow Read on Group billing* for User:ops",
        "Allow Delete on Group billing* for User:ops",
    ]
    assert {acl: dev[acl] for acl in dev if acl not in prod} == {
        "Allow Write on Topic a for User:dev": ["produce of a at topics/a.yaml:6:35"]
    }


def test_quotas_users_and_groups_are_kafkas(declared: dict[str, DeclaredAccess]) -> None:
    access = declared["prod"]
    assert access.part(QUOTAS) == {
        (("user", "billing"),): {"producer_byte_rate": 1048576.0, "request_percentage": 150.5},
        (("user", None),): {"controller_mutation_rate": 10.0},
        (("client-id", "app"),): {"consumer_byte_rate": 1000.0},
        (("client-id", None),): {"consumer_byte_rate": 1000.0},
        (("client-id", "app"), ("user", "billing")): {"consumer_byte_rate": 1000.0},
        (("client-id", None), ("user", "billing")): {"consumer_byte_rate": 1000.0},
        (("client-id", "app"), ("user", None)): {"consumer_byte_rate": 1000.0},
        (("client-id", None), ("user", None)): {"consumer_byte_rate": 1000.0},
        (("ip", "2001:db8:0:0:0:0:0:1"),): {"connection_creation_rate": 50.0},
        (("ip", None),): {"connection_creation_rate": 50.0},
    }
    key = ("a,b=c", "SCRAM-SHA-256")
    user, location = access.part(USERS)[key], access.location(USERS, key)
    assert (user.iterations, user.password, str(location)) == (8192, SecretReference("pw", "3"), "access/a.yaml:7:9")
    assert ("a,b=c", "SCRAM-SHA-512") in access.part(USERS)
    settings, location = access.part(GROUP_CONFIGS)["billing"], access.location(GROUP_CONFIGS, "billing")
    assert settings == {"consumer.session.timeout.ms": "60000", "share.auto.offset.reset": "by_duration:PT1H"}
    assert list(declared["dev"].part(GROUP_CONFIGS)["billing"]) == ["share.auto.offset.reset"]
    assert access.allow == {"access/a.yaml": frozenset({Allowance(AllowedChange.REVOKE_ACCESS, date(2030, 1, 1))})}


def test_the_schema_of_editors_accepts_the_files(tmp_path: Path) -> None:
    for folder, schema in (("access", access_schema()), ("topics", spec_schema())):
        Draft202012Validator.check_schema(schema)
        for path in sorted(
            (project_of(find_case(POLICY_CASES, "good", "access-declared"), tmp_path).root / folder).glob("*")
        ):
            documents, _ = read_documents(path.read_bytes(), path.name)
            errors = Draft202012Validator(schema).iter_errors(documents[0].value)
            assert [error.message for error in errors] == []


@pytest.mark.parametrize(
    "document",
    [
        {"aplications": {}},
        {"users": {"a": {"password": "hunter2"}}},
        {"groups": [{"principal": "ops", "group": "x", "operations": ["Read"]}]},
        {"groups": [{"principal": "User:ops", "group": "x", "operations": ["Reed"]}]},
        {"quotas": [{"user": "a", "producer_byte_rate": "1 M"}]},
        {"group_configs": {"a": {"consumer.sesion.timeout.ms": 1}}},
        {"allow": ["delete"]},
    ],
    ids=str,
)
def test_the_schema_of_editors_refuses_mistakes(document: dict[str, Any]) -> None:
    assert not Draft202012Validator(access_schema()).is_valid(document)


def test_show_has_the_acls_of_a_topic_with_their_origins(tmp_path: Path) -> None:
    project = project_of(find_case(POLICY_CASES, "good", "access-declared"), tmp_path)
    (project.root / "Pulumi.yaml").write_text("name: p\nruntime: python\n")
    lines = topicwarden("show", "a", "--stack", "dev", cwd=project.root).out.partition("\naccess\n")[2].splitlines()
    assert lines == SHOWN.splitlines()
    shown = json.loads(topicwarden("show", "a", "--stack", "dev", "--format", "json", cwd=project.root).out)
    (write,) = (each for each in shown["access"] if each["principal"] == "User:dev")
    assert write == {
        "principal": "User:dev",
        "host": "*",
        "operation": "Write",
        "permission": "Allow",
        "resource_type": "Topic",
        "resource_name": "a",
        "pattern_type": "Literal",
        "implied": ["Describe"],
        "sources": [{"description": "produce of a", "location": {"file": "topics/a.yaml", "line": 6, "column": 35}}],
    }


@pytest.mark.parametrize("form", FORMATS)
def test_no_format_shows_a_password(form: str, tmp_path: Path) -> None:
    project = project_of(find_case(POLICY_CASES, "bad", "access-passwords"), tmp_path)
    report = check_topics(project)
    assert report.errors
    assert "hunter2" not in render(report, form)


KEY = "producer_byte_rate"
ORDER: tuple[QuotaEntity, ...] = (
    (("client-id", "c"), ("user", "u")),
    (("client-id", None), ("user", "u")),
    (("user", "u"),),
    (("client-id", "c"), ("user", None)),
    (("client-id", None), ("user", None)),
    (("user", None),),
    (("client-id", "c"),),
    (("client-id", None),),
)


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_first_level_with_the_key_applies(first: int) -> None:
    quotas = {entity: {KEY: float(number)} for number, entity in enumerate(ORDER) if number >= first}
    quotas |= {entity: {"request_percentage": 1.0} for entity in ORDER[:first]}
    found = enforced(quotas, QuotaClient("u", "c"), KEY)
    assert (found.limit, found.entity) == (float(first), ORDER[first])


@pytest.mark.parametrize(("number", "entity"), list(enumerate(ORDER)))
def test_an_entity_without_its_own_quota_has_that_of_the_next_level(number: int, entity: QuotaEntity) -> None:
    last = ORDER[-1]
    assert enforced_limit({last: {KEY: 9.0}}, entity, KEY).entity == last
    assert enforced_limit({entity: {KEY: 5.0}, last: {KEY: 9.0}}, entity, KEY).entity == entity
    assert enforced_limit({ORDER[0]: {KEY: 5.0}}, entity, KEY).limit == (5.0 if number == 0 else None)


def test_an_address_has_its_own_limit_or_the_default() -> None:
    key, own, default = "connection_creation_rate", (("ip", "10.0.0.7"),), (("ip", None),)
    assert enforced({default: {key: 3.0}}, QuotaClient(ip="10.0.0.7"), key, ip=True).entity == default
    assert enforced({own: {key: 1.0}, default: {key: 3.0}}, QuotaClient(ip="10.0.0.7"), key, ip=True).entity == own


@pytest.mark.parametrize(
    ("written", "compared"),
    [
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2001:db8::0a", "2001:db8:0:0:0:0:0:a"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
    ],
)
def test_an_address_is_written_as_a_broker_writes_that_of_a_client(written: str, compared: str) -> None:
    assert ip_address(written) == compared
