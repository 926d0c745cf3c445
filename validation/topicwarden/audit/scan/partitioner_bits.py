"""The partitioners of Kafka's clients, in the order of the reader's bits (``Partitioners.java``)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Algorithm:
    """A partitioner: its name in YAML and findings, the producers that use it, and the reader's hash column."""

    name: str
    producers: str
    hash_column: str


ALGORITHMS = (
    Algorithm("murmur2", "Java, franz-go, kafka-python, librdkafka's murmur2 and murmur2_random", "murmur2"),
    Algorithm("crc32", "librdkafka's default, consistent_random, and consistent", "crc32"),
    Algorithm("fnv1a", "Sarama's default, librdkafka's fnv1a and fnv1a_random", "fnv1a"),
    Algorithm("fnv1a-masked", "Sarama's reference hash partitioner", "fnv1a"),
    Algorithm("fnv1a-unsigned", "partitioners that use plain FNV-1a", "fnv1a"),
)
ALGORITHMS_BY_NAME = {algorithm.name: algorithm for algorithm in ALGORITHMS}
DECLARED_ALGORITHMS = {"murmur2": "murmur2", "crc32": "crc32", "fnv1a": "fnv1a", "sarama": "fnv1a"}
"""The name of the algorithm by the partitioner's name in YAML."""

HASHES = ("murmur2", "crc32", "fnv1a")
"""The reader's hash columns."""
