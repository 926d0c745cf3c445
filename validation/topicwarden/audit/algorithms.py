"""The partitioners of Kafka's clients, in the order of the reader's bits (``counting/Partitioners.java``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Algorithm:
    """A partitioner: its name in the YAML and in findings, and who puts keys so.

    ``of`` gives the partition by the hash, which is ``hash_column`` of the reader.
    """

    name: str
    producers: str
    hash_column: str

    def of(self, hashed: int, partitions: int) -> int:
        """The partition of a key, by the value in ``hash_column``."""
        return _PLACES[self.name](hashed) % partitions


ALGORITHMS = (
    Algorithm("murmur2", "Java, franz-go, kafka-python, librdkafka's murmur2 and murmur2_random", "murmur2"),
    Algorithm("crc32", "librdkafka's default, consistent_random, and consistent", "crc32"),
    Algorithm("fnv1a", "Sarama's default, librdkafka's fnv1a and fnv1a_random", "fnv1a"),
    Algorithm("fnv1a-masked", "Sarama's reference hash partitioner", "fnv1a"),
    Algorithm("fnv1a-unsigned", "partitioners that take the plain FNV-1a", "fnv1a"),
)
BY_NAME = {algorithm.name: algorithm for algorithm in ALGORITHMS}
DECLARED = {"murmur2": "murmur2", "crc32": "crc32", "fnv1a": "fnv1a", "sarama": "fnv1a"}
"""The algorithm by the name that the YAML gives it."""

HASHES = ("murmur2", "crc32", "fnv1a")
"""The reader's columns of hashes."""

_PLACES: Final[Mapping[str, Callable[[int], int]]] = {
    "murmur2": lambda hashed: hashed,
    "crc32": lambda hashed: hashed,
    "fnv1a": abs,
    "fnv1a-masked": lambda hashed: hashed & 0x7FFFFFFF,
    "fnv1a-unsigned": lambda hashed: hashed & 0xFFFFFFFF,
}
