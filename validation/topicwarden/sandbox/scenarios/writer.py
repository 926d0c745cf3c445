"""Writing to the sandbox, fast and with every delivery accounted for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from topicwarden.model.problem import Refusal


class Writer:
    """Sends records with ``acks=all``, placed as Java's producer places them; see ``writing``."""

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
        """Queues a record; ``timestamp`` in milliseconds, the clock's where None."""
        settings: dict[str, Any] = {"timestamp": timestamp} if timestamp is not None else {}
        if partition is not None:
            settings["partition"] = partition
        while True:
            try:
                self._producer.produce(topic, value, key, on_delivery=self._delivered, **settings)
                break
            except BufferError:  # the queue is full: let some go out
                self._producer.poll(0.1)
        self._producer.poll(0)

    def flush(self) -> None:
        """Waits until every record was accepted or refused."""
        self._producer.flush(60)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error)


@contextmanager
def writing(servers: Sequence[str], refusals_expected: bool = False, timeout_s: float = 30) -> Iterator[Writer]:
    """A ``Writer``; refuses at the end if a record was, unless that is what is being tried."""
    producer = Producer(
        {
            "bootstrap.servers": ",".join(servers),
            "partitioner": "murmur2_random",
            "compression.type": "lz4",
            "acks": "all",
            "linger.ms": 20,
            "log_level": 0,  # a lost broker is part of the stories
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
        raise Refusal(f"the sandbox cannot be written to: {error.args[0]}") from error
    if writer.errors and not refusals_expected:
        raise Refusal(f"the sandbox refused {len(writer.errors)} records: {writer.errors[0].str()}")
