"""Read transactional ids and active producers from brokers (KIP-664)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, Final

from kafka import KafkaAdminClient
from kafka.errors import (
    IncompatibleBrokerVersion,
    KafkaError,
    NoError,
    NotCoordinatorError,
    TransactionalIdNotFoundError,
    UnsupportedVersionError,
)
from kafka.protocol.admin.transactions import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)

from topicwarden.kafka.connect.client_internals import send_to_broker, send_to_brokers
from topicwarden.kafka.connect.request_errors import retry_answers, retry_transient
from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.kafka.read.transactions import ProducerPosition, TopicProducers, Transaction, Transactions

_ENDED: Final = "Dead"
_ABSENT: Final = (NotCoordinatorError.errno, TransactionalIdNotFoundError.errno)
"""Answers of brokers that do not coordinate a transactional id, or do not know it. The user may describe it."""
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
    found: dict[str, Transaction] = {}
    hidden: set[str] = set()
    try:
        listed = retry_transient(lambda: admin.list_transactions(sorted(brokers)))
        others = {str(each.transactional_id): int(each.producer_id) for states in listed.values() for each in states}
        requested = sorted({*names, *(name for name, producer in others.items() if matches(name, producer))})
        for broker, start in product(sorted(brokers), range(0, len(requested), _AT_ONCE)):
            request = DescribeTransactionsRequest(transactional_ids=requested[start : start + _AT_ONCE])
            for state in retry_transient(partial(send_to_broker, admin, request, broker)).transaction_states:
                if state.error_code == NoError.errno:
                    found[state.transactional_id] = _transaction(state)
                elif state.error_code not in _ABSENT:
                    hidden.add(str(state.transactional_id))
    except (IncompatibleBrokerVersion, UnsupportedVersionError):
        return Transactions(missing=_UNSUPPORTED)
    except KafkaError as error:
        return Transactions(missing=f"the brokers did not report transactions: {error}")
    remembered = sorted((each for each in found.values() if each.state != _ENDED), key=lambda each: each.name)
    return Transactions(tuple(remembered), frozenset(hidden - found.keys()))


def _transaction(state: Any) -> Transaction:
    started = int(state.transaction_start_time_ms)
    return Transaction(
        str(state.transactional_id),
        str(state.transaction_state),
        int(state.producer_id),
        frozenset(str(topic.topic) for topic in state.topics),
        started if started >= 0 else None,
    )


def read_all_transactions(admin: KafkaAdminClient, brokers: Collection[int], probe: str) -> Transactions:
    """Return all transactional ids that brokers remember, with the topics of ongoing transactions.

    ``probe`` is a made-up name: it is in ``hidden`` if ids that no ACL names are hidden from this user. A broker that
    does not answer is named in ``missing``; the ids of the others are returned.

    Sends one request to every broker for the list, and one for 500 ongoing transactions.
    """
    missing: dict[str, None] = {}

    def answers(requests: Sequence[Any]) -> Iterator[Any]:
        received = retry_answers(
            dict.fromkeys(brokers, requests),
            partial(send_to_brokers, admin),
            lambda answer: int(getattr(answer, "error_code", 0)),
        )
        for broker, each in sorted(received.items()):
            for answer in each:
                if isinstance(answer, UnsupportedVersionError):
                    missing[_UNSUPPORTED] = None
                elif isinstance(answer, KafkaError):
                    missing[f"broker {broker} did not report transactions: {answer}"] = None
                else:
                    yield answer

    found = {
        (name := str(state.transactional_id)): Transaction(name, str(state.transaction_state), int(state.producer_id))
        for answer in answers([ListTransactionsRequest(state_filters=[], producer_id_filters=[], min_version=0)])
        for state in answer.transaction_states
    }
    if missing.keys() == {_UNSUPPORTED}:
        return Transactions(missing=_UNSUPPORTED)
    names = [probe, *sorted(name for name, each in found.items() if each.ongoing)]
    requests = [
        DescribeTransactionsRequest(transactional_ids=names[start : start + _AT_ONCE])
        for start in range(0, len(names), _AT_ONCE)
    ]
    hidden: set[str] = set()
    for answer in answers(requests):
        for state in answer.transaction_states:
            if state.error_code == NoError.errno:
                found[state.transactional_id] = _transaction(state)
            elif state.error_code not in _ABSENT:
                hidden.add(str(state.transactional_id))
    remembered = sorted((each for each in found.values() if each.state != _ENDED), key=lambda each: each.name)
    return Transactions(tuple(remembered), frozenset(hidden - found.keys()), "; ".join(missing))


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
                reason = "the producers could not be read (Read on the topic)"
                found[topic.name].unread[partition.partition_index] = reason
            for producer in partition.active_producers or ():
                found[topic.name].add(partition.partition_index, producer)
