"""Read transactional ids and active producers from brokers (KIP-664)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from kafka import KafkaAdminClient
from kafka.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    KafkaError,
    NoError,
    NotCoordinatorError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
    TransactionalIdNotFoundError,
    UnsupportedVersionError,
    for_code,
)
from kafka.protocol.admin.transactions import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)

from topicwarden.kafka.connect.client_internals import send_to_brokers
from topicwarden.kafka.connect.request_errors import retry_answers
from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.kafka.read.transactions import ProducerPosition, TopicProducers, Transaction, Transactions

_ENDED: Final = "Dead"
_ABSENT: Final = (NotCoordinatorError.errno, TransactionalIdNotFoundError.errno)
"""Answers of brokers that do not coordinate a transactional id, or do not know it. The user may describe it."""
_PASSING: Final = (CoordinatorLoadInProgressError.errno, CoordinatorNotAvailableError.errno)
_UNSUPPORTED: Final = "the brokers do not report transactions (Kafka 3.0 and later do)"
_AT_ONCE: Final = 500
"""Partitions, or transactional ids, of one request."""


def read_transactions(
    admin: KafkaAdminClient, brokers: Collection[int], names: Collection[str], matches: Callable[[str, int], bool]
) -> Transactions:
    """Return the transactional ids in ``names`` that brokers remember, and all others that ``matches`` accepts.

    ``matches`` gets the name and the producer id.

    A list leaves out ids that this user may not describe, without an error. A description reports them, whether or not
    they exist. So ``names`` may have made-up ones, to find out whether ids like them would be hidden.

    Every broker is asked. ``FindCoordinator`` would name the coordinator, but creates the topic ``__transaction_state``
    on a cluster that has none (``AutoTopicCreationManager``).
    """
    reader = _Reader(admin, brokers)
    others = (each.name for each in reader.listed() if matches(each.name, each.producer_id))
    reader.describe(sorted({*names, *others}))
    return reader.result()


def read_all_transactions(admin: KafkaAdminClient, brokers: Collection[int], probe: str) -> Transactions:
    """Return all transactional ids that brokers remember, with the topics of ongoing transactions.

    ``probe`` is a made-up name: it is in ``hidden`` if ids that no ACL names are hidden from this user. A broker that
    does not answer is named in ``missing``; the ids of the others are returned.

    Sends one request to every broker for the list, and one for 500 ongoing transactions.
    """
    reader = _Reader(admin, brokers)
    reader.found = {each.name: each for each in reader.listed()}
    reader.describe([probe, *sorted(name for name, each in reader.found.items() if each.ongoing)])
    return reader.result()


class _Reader:
    """Reads transactional ids of all brokers. ``found`` are the ids by name, ``_missing`` why others are not known."""

    def __init__(self, admin: KafkaAdminClient, brokers: Collection[int]) -> None:
        self._admin, self._brokers = admin, brokers
        self.found: dict[str, Transaction] = {}
        self._hidden: set[str] = set()
        self._missing: dict[str, None] = {}

    def listed(self) -> list[Transaction]:
        """Return the ids that brokers remember, without the topics of their transactions."""
        request = ListTransactionsRequest(state_filters=[], producer_id_filters=[], min_version=0)
        return [
            Transaction(str(state.transactional_id), str(state.transaction_state), int(state.producer_id))
            for _, answer in self._answers([request], lambda answer: int(answer.error_code))
            for state in answer.transaction_states
        ]

    def describe(self, names: Sequence[str]) -> None:
        """Find out the state of ``names``, and which of them are hidden."""
        requests = [
            DescribeTransactionsRequest(transactional_ids=names[start : start + _AT_ONCE])
            for start in range(0, len(names), _AT_ONCE)
        ]
        for broker, answer in self._answers(requests, _loading):
            for state in answer.transaction_states:
                if state.error_code == NoError.errno:
                    self.found[state.transactional_id] = _transaction(state)
                elif state.error_code == TransactionalIdAuthorizationFailedError.errno:
                    self._hidden.add(str(state.transactional_id))
                elif state.error_code not in _ABSENT:
                    self._fail(broker, for_code(state.error_code)())

    def result(self) -> Transactions:
        """Return what was read."""
        remembered = sorted((each for each in self.found.values() if each.state != _ENDED), key=lambda each: each.name)
        return Transactions(tuple(remembered), frozenset(self._hidden - self.found.keys()), "; ".join(self._missing))

    def _answers(self, requests: Sequence[Any], code_of: Callable[[Any], int]) -> Iterator[tuple[int, Any]]:
        """Yield the answers of each broker; remember why others are missing."""
        sent = dict.fromkeys(self._brokers, requests)
        received = retry_answers(sent, partial(send_to_brokers, self._admin), code_of)
        for broker, answers in sorted(received.items()):
            for answer in answers:
                if isinstance(answer, KafkaError):
                    self._fail(broker, answer)
                else:
                    yield broker, answer

    def _fail(self, broker: int, error: KafkaError) -> None:
        unsupported = isinstance(error, UnsupportedVersionError)
        reason = _UNSUPPORTED if unsupported else f"broker {broker} did not report transactions: {error}"
        self._missing[reason] = None


def _loading(answer: Any) -> int:
    """Return the error of an id whose coordinator reads its log after a start or a move; 0 if there is none."""
    return next((int(state.error_code) for state in answer.transaction_states if state.error_code in _PASSING), 0)


def _transaction(state: Any) -> Transaction:
    started = int(state.transaction_start_time_ms)
    return Transaction(
        str(state.transactional_id),
        str(state.transaction_state),
        int(state.producer_id),
        frozenset(str(topic.topic) for topic in state.topics),
        started if started >= 0 else None,
    )


@dataclass
class _Producers:
    """The producers of one topic, while the answers of brokers come in."""

    last_written: dict[int, int] = field(default_factory=dict)
    positions: dict[tuple[int, int], ProducerPosition] = field(default_factory=dict)
    unread: dict[int, str] = field(default_factory=dict)

    def add(self, partition: int, producer: Any) -> None:
        number = int(producer.producer_id)
        self.last_written[number] = max(self.last_written.get(number, -1), int(producer.last_timestamp))
        self.positions[partition, number] = ProducerPosition(
            int(producer.producer_epoch),
            int(producer.last_sequence) if producer.last_sequence >= 0 else None,
            producer.current_txn_start_offset >= 0,
        )

    def result(self) -> TopicProducers:
        reason = next(iter(self.unread.values()), "")
        return TopicProducers(self.last_written, reason, self.positions, frozenset(self.unread))


def read_producers(admin: KafkaAdminClient, topics: Mapping[str, LiveTopic]) -> dict[str, TopicProducers]:
    """Return the producers that the leaders of each of ``topics`` remember. It needs Read on the topic."""
    found = {name: _Producers() for name in topics}
    leaders: dict[int, list[tuple[str, int]]] = {}
    for name, live in topics.items():
        for state in live.replicas:
            if state.leader is None:
                found[name].unread[state.partition] = "a partition has no leader"
            else:
                leaders.setdefault(state.leader, []).append((name, state.partition))
    batches = {
        broker: [partitions[start : start + _AT_ONCE] for start in range(0, len(partitions), _AT_ONCE)]
        for broker, partitions in leaders.items()
    }
    requests = {broker: [_producers_request(batch) for batch in each] for broker, each in batches.items()}
    answers = retry_answers(requests, partial(send_to_brokers, admin), lambda answer: 0)
    for broker, each in batches.items():
        for batch, answer in zip(each, answers[broker], strict=True):
            _add_producers(batch, answer, found)
    return {name: producers.result() for name, producers in found.items()}


def _producers_request(partitions: Iterable[tuple[str, int]]) -> DescribeProducersRequest:
    by_topic: dict[str, list[int]] = {}
    for name, partition in partitions:
        by_topic.setdefault(name, []).append(partition)
    return DescribeProducersRequest(
        topics=[
            DescribeProducersRequest.TopicRequest(name=name, partition_indexes=numbers)
            for name, numbers in by_topic.items()
        ]
    )


def _add_producers(partitions: Iterable[tuple[str, int]], answer: Any, found: Mapping[str, _Producers]) -> None:
    if isinstance(answer, KafkaError):
        unsupported = isinstance(answer, UnsupportedVersionError)
        reason = (
            "the brokers do not report producers (Kafka 3.0 and later do)"
            if unsupported
            else f"the brokers did not report producers: {answer}"
        )
        for name, number in partitions:
            found[name].unread[number] = reason
        return
    for topic in answer.topics:
        for partition in topic.partitions:
            if partition.error_code:
                denied = partition.error_code == TopicAuthorizationFailedError.errno
                reason = "Read on the topic" if denied else str(for_code(partition.error_code)())
                found[topic.name].unread[partition.partition_index] = f"the producers could not be read ({reason})"
            for producer in partition.active_producers or ():
                found[topic.name].add(partition.partition_index, producer)
