"""Test that what the provider has written is what every broker of a cluster shows from then on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest
from kafka import KafkaAdminClient

from tests.support.restricted_user import RestrictedCluster
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.authorizer_reads import list_acls
from topicwarden.kafka.read.broker_visibility import living_brokers
from topicwarden.kafka.write.access_admin import Credential, create_acls, delete_acls, read_credentials, wait_for_acls
from topicwarden.kafka.write.admin_session import AdminSession
from topicwarden.kinds.acl.resource import ACL, Acls
from topicwarden.kinds.announced_writes import Intent
from topicwarden.kinds.batches import EngineCalls
from topicwarden.kinds.quota.live import read_quotas
from topicwarden.kinds.quota.resource import Quotas
from topicwarden.kinds.scram_user.resource import Credentials
from topicwarden.model.access import Acl, Operation, PermissionType, ResourceType

ROUNDS = 40


@pytest.fixture(scope="module")
def session(cluster: RestrictedCluster) -> AdminSession:
    return AdminSession(Connection(tuple(cluster.servers), tls=False))


def test_every_broker_shows_a_created_and_no_deleted_acl(session: AdminSession) -> None:
    read, topic = (Operation.READ, PermissionType.ALLOW), ResourceType.TOPIC
    acls = [Acl("User:a", "*", *read, topic, f"t{n}") for n in range(ROUNDS)]

    async def late() -> list[str]:
        resources, found = Acls(session, EngineCalls(), unannounced), list[str]()
        for acl in acls:
            values = ("User:a", "*", "Read", "Allow", "Topic", acl.resource_name, "Literal")
            properties = dict(zip(ACL.properties, values, strict=True))
            await resources.create(properties)
            found += [
                f"created {acl}" for broker in brokers(session) if acl not in list_acls(session.admin, broker).acls
            ]
            await resources.delete("|".join(values), properties)
            found += [f"deleted {acl}" for broker in brokers(session) if acl in list_acls(session.admin, broker).acls]
        return found

    assert asyncio.run(late()) == []


def test_every_broker_shows_a_quota_as_it_was_written_last(session: AdminSession) -> None:
    entity, id = (("client-id", "reports"),), "reports|client-id"

    async def late() -> list[object]:
        quotas, found = Quotas(session, EngineCalls(), unannounced), list[object]()

        def compare(expected: dict[str, float]) -> None:
            for broker in brokers(session):
                seen = read_quotas(session.admin, [entity], broker).get(entity, {})
                found.extend([] if seen == expected else [(expected, seen)])

        for number in range(ROUNDS):
            old = {"entityName": "reports", "entityType": "client-id", "config": {"producer_byte_rate": "5000"}}
            new = {**old, "config": {"consumer_byte_rate": float(1000 + number)}}
            await quotas.create(old)
            compare({"producer_byte_rate": 5000.0})
            await quotas.update(id, old, new)
            compare({"consumer_byte_rate": 1000.0 + number})
            await quotas.delete(id, new)
            compare({})
        return found

    assert asyncio.run(late()) == []


def test_every_broker_shows_a_written_and_no_deleted_credential(session: AdminSession) -> None:
    credential, id = Credential("alice", "SCRAM-SHA-256"), "alice|SCRAM-SHA-256"

    async def late() -> list[object]:
        credentials, found = Credentials(session, EngineCalls(), unannounced), list[object]()

        def compare(expected: int | None) -> None:
            seen = [read_credentials(session.admin, broker).get(credential) for broker in brokers(session)]
            found.extend([] if set(seen) == {expected} else [(expected, seen)])

        for number in range(ROUNDS):
            inputs = {"username": "alice", "scramMechanism": "SCRAM-SHA-256", "password": "secret"}
            await credentials.create(inputs | {"scramIterations": 4096.0 + number})
            compare(4096 + number)
            await credentials.delete(id, inputs)
            compare(None)
        return found

    assert asyncio.run(late()) == []


def test_an_acl_with_an_operation_that_the_client_does_not_know_is_listed(session: AdminSession) -> None:
    acl = Acl(
        "User:b", "*", Operation.TWO_PHASE_COMMIT, PermissionType.ALLOW, ResourceType.TRANSACTIONAL_ID, "payments"
    )
    assert create_acls(session.admin, [acl]) == {}
    assert not wait_for_acls(session.admin, [acl], exist=True)
    listing = list_acls(session.admin)
    assert [each for each in listing.acls if each.principal == "User:b"] == [acl]
    assert listing.unknown == 0
    assert delete_acls(session.admin, [acl]) == {}


def unannounced(intent: Intent, names: Iterable[str]) -> None:
    """Record nothing."""


def brokers(session: AdminSession) -> list[int]:
    admin: KafkaAdminClient = session.admin
    return sorted(living_brokers(admin))
