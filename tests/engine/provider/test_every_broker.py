"""Test that what the provider has written is what every broker of a cluster of three shows from then on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from kafka import KafkaAdminClient
from kafka.protocol.admin import CreateAclsRequest

from tests.support.projects import own_cache, project_of
from tests.support.restricted_user import AUTHORIZER
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.deploy.provider.acl_type import Acls
from topicwarden.deploy.provider.batches import EngineCalls
from topicwarden.deploy.provider.quota_type import Quotas
from topicwarden.deploy.provider.scram_type import Credentials
from topicwarden.kafka.connect.client_internals import send_to_any_broker
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.broker_visibility import living_brokers
from topicwarden.kafka.write.access_admin import AccessRule, list_rules
from topicwarden.kafka.write.admin_session import AdminSession
from topicwarden.kafka.write.credential_admin import Credential, read_credentials
from topicwarden.kafka.write.quota_admin import QuotaEntity, read_quotas
from topicwarden.toolchain import Toolchain

ROUNDS = 40
TWO_PHASE_COMMIT = 15


@pytest.fixture(scope="module")
def session(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdminSession]:
    with (
        own_cache(tmp_path_factory.mktemp("every-broker")) as folder,
        running(sandbox_of(project_of(folder / "project", {})), brokers=3, overrides=AUTHORIZER) as sandbox,
    ):
        yield AdminSession(Connection(tuple(sandbox.bootstrap_servers), tls=False))


def test_every_broker_shows_a_created_and_no_deleted_acl(session: AdminSession) -> None:
    rules = [AccessRule("User:a", "*", "Read", "Allow", "Topic", f"t{n}", "Literal") for n in range(ROUNDS)]
    properties = ("Principal", "Host", "Operation", "PermissionType", "ResourceType", "ResourceName")

    async def late() -> list[str]:
        acls, found = Acls(session, EngineCalls()), list[str]()
        for rule in rules:
            values = str(rule).split("|")
            inputs = {f"acl{name}": value for name, value in zip(properties, values, strict=False)}
            await acls.create(inputs | {"resourcePatternTypeFilter": "Literal"})
            found += [f"created {rule}" for broker in brokers(session) if rule not in list_rules(session.admin, broker)]
            await acls.delete(str(rule))
            found += [f"deleted {rule}" for broker in brokers(session) if rule in list_rules(session.admin, broker)]
        return found

    assert asyncio.run(late()) == []


def test_every_broker_shows_a_quota_as_it_was_written_last(session: AdminSession) -> None:
    entity, id = QuotaEntity("client-id", "reports"), "reports|client-id"

    async def late() -> list[object]:
        quotas, found = Quotas(session, EngineCalls()), list[object]()

        def compare(expected: dict[str, float]) -> None:
            for broker in brokers(session):
                seen = read_quotas(session.admin, [entity], broker).get(entity, {})
                found.extend([] if seen == expected else [(expected, seen)])

        for number in range(ROUNDS):
            old = {"entityName": entity.name, "entityType": entity.type, "config": {"producer_byte_rate": "5000"}}
            new = {**old, "config": {"consumer_byte_rate": float(1000 + number)}}
            await quotas.create(old)
            compare({"producer_byte_rate": 5000.0})
            await quotas.update(id, old, new)
            compare({"consumer_byte_rate": 1000.0 + number})
            await quotas.delete(id)
            compare({})
        return found

    assert asyncio.run(late()) == []


def test_every_broker_shows_a_written_and_no_deleted_credential(session: AdminSession) -> None:
    credential, id = Credential("alice", "SCRAM-SHA-256"), "alice|SCRAM-SHA-256"

    async def late() -> list[object]:
        credentials, found = Credentials(session, EngineCalls()), list[object]()

        def compare(expected: int | None) -> None:
            seen = [read_credentials(session.admin, broker).get(credential) for broker in brokers(session)]
            found.extend([] if set(seen) == {expected} else [(expected, seen)])

        for number in range(ROUNDS):
            inputs = {"username": "alice", "scramMechanism": "SCRAM-SHA-256", "password": "secret"}
            await credentials.create(inputs | {"scramIterations": 4096.0 + number})
            compare(4096 + number)
            await credentials.delete(id)
            compare(None)
        return found

    assert asyncio.run(late()) == []


def test_acls_with_an_operation_that_the_client_does_not_know_are_left_out(session: AdminSession) -> None:
    creation = CreateAclsRequest.AclCreation(
        resource_type=5,  # TransactionalId
        resource_name="payments",
        resource_pattern_type=3,
        principal="User:b",
        host="*",
        operation=TWO_PHASE_COMMIT,
        permission_type=3,
    )
    answer = send_to_any_broker(session.admin, CreateAclsRequest(creations=[creation]))
    assert [result.error_code for result in answer.results] == [0]
    assert [rule for rule in list_rules(session.admin) if rule.principal == "User:b"] == []


def brokers(session: AdminSession) -> list[int]:
    admin: KafkaAdminClient = session.admin
    return sorted(living_brokers(admin))
