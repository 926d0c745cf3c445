"""Write keys with real producers, which choose the partitions."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

from confluent_kafka import Producer
from kafka import KafkaProducer
from kafka.admin import NewPartitions, NewTopic
from kafka.partitioner.default import murmur2

from tests.support.java_programs import compiled
from topicwarden.kafka.connect.clients import connected
from topicwarden.toolchain import Toolchain

KEYS = 1_500
LIBRDKAFKA = ("consistent", "consistent_random", "murmur2", "murmur2_random", "fnv1a", "fnv1a_random")
OTHERS = (
    *("java", "kafka-python", "mixed", "scattered", "undeclared-own", "wrong", "right", "by-letter", "by-function"),
    *("empty", "first"),
)
PARTITIONS = 6

_SOURCE = Path(__file__).with_name("JavaProducer.java")


def fill(servers: Sequence[str], tools: Toolchain) -> None:
    with connected(servers) as admin:
        compact = {"cleanup.policy": "compact"}
        admin.create_topics(
            [
                *(NewTopic(f"placed.{name}", PARTITIONS, 1, topic_configs=compact) for name in (*LIBRDKAFKA, *OTHERS)),
                *(NewTopic(f"placed.{name}", 4, 1, topic_configs=compact) for name in ("grown", "grown-declared")),
                *(NewTopic(f"placed.{name}", 3, 1) for name in ("mirror", "stale")),
            ]
        )
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
    mirror(servers)
    with java(servers, "placed.java", "placed.stale", tools), connected(servers) as admin:
        grown = ("grown", "grown-declared", "mirror", "stale")
        admin.create_partitions({f"placed.{name}": NewPartitions(PARTITIONS) for name in grown})
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


@contextmanager
def java(servers: Sequence[str], topic: str, stale: str, tools: Toolchain) -> Iterator[None]:
    """Write ``topic`` with a producer with default settings, which writes half of ``stale`` before and after the block.

    One process writes both, because a start of Java takes most of its time.
    """
    jars = str(tools.kafka_jars / "*")
    class_path = f"{compiled(tools.java, _SOURCE, jars)}{os.pathsep}{jars}"
    numbers = (str(KEYS), str(KEYS // 2))
    command = [str(tools.java), "-cp", class_path, _SOURCE.stem, ",".join(servers), topic, stale, *numbers]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "waiting\n"
        yield
        process.communicate("\n", timeout=60)
    assert process.returncode == 0


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


def mirror(servers: Sequence[str]) -> None:
    """Copy the keys of six partitions into three, in the order in which one consumer with defaults reads them."""
    keys = sorted(
        (f"key-{number}" for number in range(2 * KEYS)), key=lambda key: (murmur2(key.encode()) & 0x7FFFFFFF) % 6
    )
    librdkafka(servers, "placed.mirror", "murmur2_random", (int(key.removeprefix("key-")) for key in keys))


def own(servers: Sequence[str], topic: str, keys: Iterable[str], partition: Callable[[str], int]) -> None:
    producer = Producer({"bootstrap.servers": ",".join(servers), "acks": "all"})
    for key in keys:
        producer.produce(topic, b"x", key, partition=partition(key))
    assert producer.flush(30) == 0
