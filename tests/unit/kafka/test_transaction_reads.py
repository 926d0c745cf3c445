"""Test the reasons why transactional ids and producers are not known. The responses of brokers are written by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import (
    BrokerResponseError,
    CoordinatorLoadInProgressError,
    IncompatibleBrokerVersion,
    KafkaConnectionError,
    KafkaError,
    NotCoordinatorError,
    NotLeaderForPartitionError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
)

from topicwarden.kafka.connect import request_errors
from topicwarden.kafka.read import transaction_reads
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionReplicas
from topicwarden.kafka.read.transaction_reads import read_all_transactions, read_producers, read_transactions
from topicwarden.kafka.read.transactions import Transactions
from topicwarden.model.topic import Topic

PROBE = "probe"
ADMIN: Any = None


class Brokers:
    """Brokers 1 and 2. The first coordinates all ids: it has these states, and else the first of ``errors``.

    ``errors`` are the errors of its next answers about ids; the last one remains. ``lost`` is the answer of broker 2.
    """

    def __init__(
        self,
        *errors: type[BrokerResponseError],
        states: Mapping[str, str] | None = None,
        lost: KafkaError | None = None,
    ) -> None:
        self.errors, self.states, self.lost = list(errors), dict(states or {}), lost

    def send(self, _: object, requests: Mapping[int, Sequence[Any]]) -> dict[int, list[Any]]:
        return {broker: [self.answer(broker, request) for request in each] for broker, each in requests.items()}

    def answer(self, broker: int, request: Any) -> Any:
        if broker == 2 and self.lost is not None:
            return self.lost
        names = getattr(request, "transactional_ids", None)
        if names is None:
            listed = [state(name, each) for name, each in self.states.items()] if broker == 1 else []
            return SimpleNamespace(error_code=0, transaction_states=listed)
        error = NotCoordinatorError if broker == 2 else self.errors.pop(0) if len(self.errors) > 1 else self.errors[0]
        known = self.states if broker == 1 else {}
        return SimpleNamespace(
            transaction_states=[
                state(name, known[name]) if name in known else state(name, "", error.errno) for name in names
            ]
        )


def state(name: str, text: str, error: int = 0) -> SimpleNamespace:
    return SimpleNamespace(
        transactional_id=name,
        transaction_state=text,
        producer_id=7,
        topics=[],
        transaction_start_time_ms=-1,
        error_code=error,
    )


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_errors, "_TIMEOUT_S", 0.05)
    monkeypatch.setattr(request_errors, "_PAUSE_S", 0)


def read_all() -> Transactions:
    return read_all_transactions(ADMIN, [1, 2], PROBE)


def read_named() -> Transactions:
    return read_transactions(ADMIN, [1, 2], [PROBE], lambda name, producer: producer == 7)


@pytest.mark.parametrize("read", [read_all, read_named])
class TestTransactionalIds:
    def test_an_id_is_hidden_only_if_the_user_may_not_describe_it(
        self, read: Callable[[], Transactions], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        brokers = Brokers(TransactionalIdAuthorizationFailedError, states={"billing": "Ongoing"})
        monkeypatch.setattr(transaction_reads, "send_to_brokers", brokers.send)
        found = read()
        assert [each.name for each in found.found] == ["billing"]
        assert (found.hidden, found.missing) == (frozenset({PROBE}), "")

    def test_a_coordinator_that_loads_is_read_again(
        self, read: Callable[[], Transactions], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        brokers = Brokers(CoordinatorLoadInProgressError, CoordinatorLoadInProgressError, NotCoordinatorError)
        monkeypatch.setattr(transaction_reads, "send_to_brokers", brokers.send)
        assert read() == Transactions()

    def test_a_coordinator_that_loads_for_long_is_no_missing_permission(
        self, read: Callable[[], Transactions], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(transaction_reads, "send_to_brokers", Brokers(CoordinatorLoadInProgressError).send)
        found = read()
        assert found.hidden == frozenset()
        assert "broker 1 did not report transactions" in found.missing
        assert "CoordinatorLoadInProgressError" in found.missing

    def test_a_broker_that_does_not_answer_is_named_and_the_others_are_read(
        self, read: Callable[[], Transactions], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        brokers = Brokers(NotCoordinatorError, states={"billing": "Ongoing"}, lost=KafkaConnectionError("lost"))
        monkeypatch.setattr(transaction_reads, "send_to_brokers", brokers.send)
        found = read()
        assert [each.name for each in found.found] == ["billing"]
        assert found.missing.startswith("broker 2 did not report transactions")

    def test_brokers_without_the_requests_are_named_by_their_version(
        self, read: Callable[[], Transactions], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            transaction_reads,
            "send_to_brokers",
            lambda _, requests: {
                broker: [IncompatibleBrokerVersion()] * len(each) for broker, each in requests.items()
            },
        )
        assert read() == Transactions(missing="the brokers do not report transactions (Kafka 3.0 and later do)")


@pytest.mark.parametrize(
    ("error", "reason"),
    [(TopicAuthorizationFailedError, "(Read on the topic)"), (NotLeaderForPartitionError, "NotLeaderForPartition")],
)
def test_only_denied_producers_miss_a_permission(
    error: type[BrokerResponseError], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = SimpleNamespace(error_code=error.errno, partition_index=0, active_producers=[])
    answer = SimpleNamespace(topics=[SimpleNamespace(name="t", partitions=[partition])])
    monkeypatch.setattr(transaction_reads, "send_to_brokers", lambda _, requests: {1: [answer]})
    live = LiveTopic(Topic("t", 1, 1), "id", {}, (PartitionReplicas(0, 1, (1,), (1,)),), {})
    found = read_producers(ADMIN, {"t": live})["t"]
    assert found.unread == {0}
    assert reason in found.missing
