"""Test where partitioners place keys, and conclusions from keys that are placed by hand.

Real producers are in ``tests/broker/contents``.
"""

from __future__ import annotations

import ctypes
import random
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import confluent_kafka
import pytest

from topicwarden.audit.checks.common.content_faults import placement_text
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.key_placement import KeyPlacement, key_placement
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS, ALGORITHMS_BY_NAME, Algorithm
from topicwarden.kafka.read.partition_functions import PARTITIONERS

KEYS = [f"key-{number}".encode() for number in range(600)]
TODAY = 6


_SYMBOLS = {"murmur2": "murmur2", "crc32": "consistent", "fnv1a": "fnv1a", "sarama": "fnv1a"}


def fnv1a(key: bytes) -> int:
    """Return the hash as Java does: as a signed number."""
    hashed = 0x811C9DC5
    for byte in key:
        hashed = (hashed ^ byte) * 0x01000193 & 0xFFFFFFFF
    return hashed - (1 << 32) if hashed >> 31 else hashed


NON_NEGATIVE: Final[Mapping[str, Callable[[int], int]]] = {
    "murmur2": lambda key_hash: key_hash,
    "crc32": lambda key_hash: key_hash,
    "fnv1a": abs,
    "fnv1a-masked": lambda key_hash: key_hash & 0x7FFFFFFF,
    "fnv1a-unsigned": lambda key_hash: key_hash & 0xFFFFFFFF,
}
"""The hash as a number that is divided by the number of partitions, by the name of the algorithm."""


def partition_for(algorithm: Algorithm, key_hash: int, partitions: int) -> int:
    return NON_NEGATIVE[algorithm.name](key_hash) % partitions


def hashes(key: bytes) -> dict[str, int]:
    return {"murmur2": random.Random(key).getrandbits(31), "crc32": zlib.crc32(key), "fnv1a": fnv1a(key)}


def concluded(partition_of: Callable[[int, dict[str, int]], int]) -> KeyPlacement:
    """Return the placement of keys in the partitions that ``partition_of`` returns for each number and its hashes.

    Keys are written in the order of their numbers.
    """
    placed = [(partition_of(number, current := hashes(key)), current) for number, key in enumerate(KEYS)]
    fits = [
        sum(
            partition_for(algorithm, current[algorithm.hash_column], TODAY) == partition
            for partition, current in placed
        )
        for algorithm in ALGORITHMS
    ]
    return key_placement(TODAY, [PartitionCounts(keys=len(KEYS), fits=tuple(fits))], None)


def test_the_vector_of_the_documentation() -> None:
    assert partition_for(ALGORITHMS_BY_NAME["crc32"], zlib.crc32(b"100:48069"), 12) == 6
    assert partition_for(ALGORITHMS_BY_NAME["fnv1a"], fnv1a(b"100:48069"), 12) == 3


@pytest.mark.parametrize("name", list(ALGORITHMS_BY_NAME))
def test_one_algorithm_is_known_by_a_score_of_one(name: str) -> None:
    one = ALGORITHMS_BY_NAME[name]
    reported = concluded(lambda _, current: partition_for(one, current[one.hash_column], TODAY))
    assert reported.algorithms == (name,)
    assert all(share < 0.9 for other, share in reported.scores.items() if other != name)


def test_shares_of_keys_prove_no_cause() -> None:
    """Growth, a mirror and two kinds of producer leave the same shares, so no cause is named."""
    for partition_of in (
        lambda number, current: current["crc32"] % (2 if number < 300 else TODAY),
        lambda number, current: current["crc32" if number % 3 else "murmur2"] % TODAY,
        lambda number, current: 0 if number < 100 else current["crc32"] % TODAY,
        lambda number, _: number * 7 % TODAY,
    ):
        reported = concluded(partition_of)
        assert reported.algorithms == ()
        text = placement_text(reported)
        assert text.startswith("no known partitioner explains every key with 6 partitions: ")
        assert all(f"{name} {share:.2%}" in text for name, share in reported.scores.items())


def test_no_keys_have_no_scores() -> None:
    assert key_placement(TODAY, [PartitionCounts(records=5, null_keys=5)], None) == KeyPlacement(TODAY, 0, {})


def librdkafka(name: str, key: bytes, partitions: int) -> int:
    folder = Path(confluent_kafka.__file__).parents[1]
    (library,) = (*folder.glob("confluent_kafka.libs/librdkafka*"), *folder.glob("confluent_kafka/.dylibs/librdkafka*"))
    function = getattr(ctypes.CDLL(str(library)), f"rd_kafka_msg_partitioner_{name}")
    function.restype = ctypes.c_int32
    function.argtypes = [*[ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int32], *[ctypes.c_void_p] * 2]
    return int(function(None, key, len(key), partitions, None, None))


@pytest.mark.parametrize("name", sorted(PARTITIONERS))
def test_keys_go_where_librdkafka_puts_them(name: str) -> None:
    chance = random.Random(name)
    for _ in range(500):
        key, partitions = chance.randbytes(chance.randint(1, 40)), chance.randint(1, 50)
        assert PARTITIONERS[name](key, partitions) == librdkafka(_SYMBOLS[name], key, partitions)


def test_the_signature_of_the_known_example() -> None:
    assert PARTITIONERS["murmur2"](b"100:48069", 12) == 9
    assert PARTITIONERS["crc32"](b"100:48069", 12) == 6
