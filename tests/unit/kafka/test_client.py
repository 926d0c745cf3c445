"""Test that errors of the cluster are distinguished from errors of the calling code."""

from __future__ import annotations

import pytest
from kafka.errors import KafkaConnectionError, KafkaError, NodeNotReadyError, UnknownBrokerIdError

from topicwarden.kafka.connect import admin_client, broker_probe
from topicwarden.kafka.connect.broker_probe import Probed
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.problem import Refusal


class _Admin:
    def __init__(self, **_: object) -> None: ...

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_client, "KafkaAdminClient", _Admin)
    monkeypatch.setattr(admin_client, "probe", lambda _, addresses: Probed(tuple(addresses), {}))
    monkeypatch.setattr(admin_client, "advertised_addresses", lambda _: ["127.0.0.1:1"])


def test_an_error_of_ours_is_not_the_clusters() -> None:
    with pytest.raises(RuntimeError, match="ours"), admin_client.open_admin(Connection(("127.0.0.1:1",), tls=False)):
        raise RuntimeError("ours")


def test_an_error_of_kafkas_is() -> None:
    refused = pytest.raises(Refusal, match=r"the Kafka cluster at 127\.0\.0\.1:1 stopped answering")
    with refused, admin_client.open_admin(Connection(("127.0.0.1:1",), tls=False)):
        raise KafkaConnectionError("gone")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (UnknownBrokerIdError(3), "broker 3 left the cluster during the command; run the command again"),
        (NodeNotReadyError(3), "broker 3 does not answer; run the command again"),
    ],
)
def test_a_lost_broker_is_named(error: KafkaError, reason: str) -> None:
    with (
        pytest.raises(Refusal, match=reason),
        admin_client.open_admin(Connection(("127.0.0.1:1",), tls=False)),
    ):
        raise error


def test_an_address_that_hangs_has_a_reason_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_probe, "_LIMIT_S", 0.1)
    monkeypatch.setattr(broker_probe, "_probe", lambda *_: None)
    probed = broker_probe.probe(Connection(("a:1", "b:1"), tls=False), ["a:1", "b:1"])
    assert not probed.answering
    assert set(probed.failures) == {"a:1", "b:1"}
