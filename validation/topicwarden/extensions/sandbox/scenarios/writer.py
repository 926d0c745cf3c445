"""Write records to the sandbox, and verify that every record was delivered.

Only the demo of the repository writes records. librdkafka (``confluent-kafka``) is therefore a dependency of
development, like the flights. kafka-python takes 7 to 12 times its CPU time for the flights.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from topicwarden.model.message_text import counted
from topicwarden.model.problem import Refusal

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

_VALID_WITHIN_S = 30.0
_INVALID = "INVALID_RECORD"


class Writer:
    """Sends records with ``acks=all`` and the partitioner of Kafka's Java producer; see ``writing``."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self.errors: list[KafkaError] = []

    def send(
        self,
        topic: str,
        key: str | None,
        value: str | bytes | None,
        timestamp: int | None = None,
        partition: int | None = None,
    ) -> None:
        """Add a record to the producer's queue; ``timestamp`` in milliseconds, None for the current time."""
        settings: dict[str, Any] = {"timestamp": timestamp} if timestamp is not None else {}
        if partition is not None:
            settings["partition"] = partition
        while True:
            try:
                self._producer.produce(topic, value, key, on_delivery=self._delivered, **settings)
                break
            except BufferError:  # the queue is full: wait for deliveries
                self._producer.poll(0.1)
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait until every record was accepted or refused."""
        self._producer.flush(60)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error)


@contextmanager
def writing(servers: Sequence[str], refusals_expected: bool = False, timeout_s: float = 120) -> Iterator[Writer]:
    """Yield a ``Writer``. Raises Refusal at the end if a record was refused, unless ``refusals_expected`` is true."""
    try:
        from confluent_kafka import KafkaException, Producer  # noqa: PLC0415 -- a dependency of development
    except ModuleNotFoundError:
        raise Refusal(
            "the package confluent-kafka, which writes the records, is not installed: run `pip install confluent-kafka`"
        ) from None
    producer = Producer(
        {
            "bootstrap.servers": ",".join(servers),
            "partitioner": "murmur2_random",
            "compression.type": "lz4",
            "acks": "all",
            "linger.ms": 20,
            "log_level": 0,  # some scenarios lose a broker on purpose
            "batch.size": 262_144,
            "queue.buffering.max.messages": 500_000,
            "message.timeout.ms": int(timeout_s * 1000),
        }
    )
    writer = Writer(producer)
    try:
        yield writer
        writer.flush()
    except KafkaException as error:
        raise Refusal(f"cannot write to the sandbox: {error.args[0]}") from error
    if writer.errors and not refusals_expected:
        raise Refusal(f"the sandbox refused {counted(len(writer.errors), 'record')}: {writer.errors[0].str()}")


def write_once_valid(servers: Sequence[str], topic: str, key: str | None, value: str, partition: int) -> None:
    """Write one record; send it again for 30 s while the broker refuses it as invalid.

    A broker shows changed settings before its logs follow them (``BrokerMetadataPublisher``). Raises Refusal if the
    record is not accepted.
    """
    deadline = time.monotonic() + _VALID_WITHIN_S
    while True:
        with writing(servers, refusals_expected=True) as writer:
            writer.send(topic, key, value, partition=partition)
        if not writer.errors:
            return
        (error,) = writer.errors
        if error.name() != _INVALID or time.monotonic() > deadline:
            raise Refusal(f"the sandbox refused a record for {topic}: {error.str()}")
        time.sleep(0.1)
