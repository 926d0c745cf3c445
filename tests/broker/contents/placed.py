"""Write keys with real producers, which choose the partitions."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle
from pathlib import Path

from confluent_kafka import Producer
from kafka import KafkaProducer
from kafka.admin import NewPartitions, NewTopic

from topicwarden.kafka.write.config_admin import connected
from topicwarden.toolchain import Toolchain

KEYS = 1_500
LIBRDKAFKA = ("consistent", "consistent_random", "murmur2", "murmur2_random", "fnv1a", "fnv1a_random")
OTHERS = (
    *("java", "kafka-python", "mixed", "scattered", "undeclared-own", "wrong", "right", "by-letter", "by-function"),
    *("empty", "first"),
)
PARTITIONS = 6

_HERE = Path(__file__).parent


def fill(servers: Sequence[str], tools: Toolchain) -> None:
    with connected(servers) as admin:
        compact = {"cleanup.policy": "compact"}
        admin.create_topics(
            [
                *(NewTopic(f"placed.{name}", PARTITIONS, 1, topic_configs=compact) for name in (*LIBRDKAFKA, *OTHERS)),
                *(NewTopic(f"placed.{name}", 4, 1, topic_configs=compact) for name in ("grown", "grown-declared")),
            ]
        )
    java(servers, "placed.java", tools)
    kafka_python(servers, "placed.kafka-python")
    for name in LIBRDKAFKA:
        librdkafka(servers, f"placed.{name}", name)
    librdkafka(servers, "placed.mixed", "murmur2_random", range(0, KEYS, 2))
    librdkafka(servers, "placed.mixed", "consistent_random", range(1, KEYS, 2))
    librdkafka(servers, "placed.wrong", "consistent_random")
    librdkafka(servers, "placed.right", "consistent_random")
    librdkafka(servers, "placed.right", "consistent_random", [7] * 500)
    librdkafka(servers, "placed.empty", "consistent_random")
    numbers = cycle(range(PARTITIONS))
    own(servers, "placed.empty", [""] * 600, lambda _: next(numbers))
    first(servers, range(200))
    for name in ("grown", "grown-declared"):
        librdkafka(servers, f"placed.{name}", "murmur2_random", range(KEYS))
    with connected(servers) as admin:
        admin.create_partitions({f"placed.{name}": NewPartitions(PARTITIONS) for name in ("grown", "grown-declared")})
    for name in ("grown", "grown-declared"):
        librdkafka(servers, f"placed.{name}", "murmur2_random", range(KEYS - 100, 2 * KEYS))
    letters = [f"{'abcdefghijklmnop'[number % 16]}-{number}" for number in range(KEYS)]
    for name in ("by-letter", "by-function", "undeclared-own"):
        own(servers, f"placed.{name}", letters, lambda key: (ord(key[0]) - ord("a")) % PARTITIONS)
    chance = random.Random(1)
    own(
        servers,
        "placed.scattered",
        [f"key-{n % KEYS}" for n in range(4 * KEYS)],
        lambda _: chance.randrange(PARTITIONS),
    )


def java(servers: Sequence[str], topic: str, tools: Toolchain) -> None:
    class_path = str(tools.kafka_jars / "*")
    command = [tools.java, "-cp", class_path, _HERE / "JavaProducer.java", ",".join(servers), topic, KEYS]
    subprocess.run([str(part) for part in command], check=True, capture_output=True, timeout=60)


def kafka_python(servers: Sequence[str], topic: str) -> None:
    producer = KafkaProducer(bootstrap_servers=list(servers))
    for number in range(KEYS):
        producer.send(topic, key=f"key-{number}".encode(), value=b"x")
    producer.close()


def librdkafka(servers: Sequence[str], topic: str, partitioner: str, numbers: Iterable[int] = range(KEYS)) -> None:
    producer = Producer({"bootstrap.servers": ",".join(servers), "partitioner": partitioner, "acks": "all"})
    for number in numbers:
        producer.produce(topic, b"x", f"key-{number}")
    assert producer.flush(30) == 0


def first(servers: Sequence[str], numbers: Iterable[int]) -> None:
    """Write keys with a producer that always selects partition 0."""
    own(servers, "placed.first", (f"key-{number}" for number in numbers), lambda _: 0)


def own(servers: Sequence[str], topic: str, keys: Iterable[str], partition: Callable[[str], int]) -> None:
    producer = Producer({"bootstrap.servers": ",".join(servers), "acks": "all"})
    for key in keys:
        producer.produce(topic, b"x", key, partition=partition(key))
    assert producer.flush(30) == 0
