"""Test where partitioners place keys, and conclusions from keys that are placed by hand.

Real producers are in ``tests/broker/contents``.
"""

from __future__ import annotations

import ctypes
import random
import zlib
from collections.abc import Callable
from pathlib import Path

import confluent_kafka
import pytest

from topicwarden.audit.checks.common.placement_conclusion import conclusion_text
from topicwarden.audit.scan.complete_since import complete_since
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.key_placement import KeyPlacement, PlacementKind, PlacementStudy, SampledKey, conclude
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS, ALGORITHMS_BY_NAME
from topicwarden.kafka.read.partition_functions import PARTITIONERS

KEYS = [f"key-{number}".encode() for number in range(600)]
TODAY = 6


PARTITIONS = 6
_SYMBOLS = {"murmur2": "murmur2", "crc32": "consistent", "fnv1a": "fnv1a", "sarama": "fnv1a"}


def fnv1a(key: bytes) -> int:
    """Return the hash as Java does: as a signed number."""
    hashed = 0x811C9DC5
    for byte in key:
        hashed = (hashed ^ byte) * 0x01000193 & 0xFFFFFFFF
    return hashed - (1 << 32) if hashed >> 31 else hashed


def hashes(key: bytes) -> dict[str, int]:
    return {"murmur2": random.Random(key).getrandbits(31), "crc32": zlib.crc32(key), "fnv1a": fnv1a(key)}


def concluded(partition_of: Callable[[int, dict[str, int]], int], several: int = 0, keys: int = 600) -> KeyPlacement:
    """Return the conclusion for keys in the partitions that ``partition_of`` returns for each number and its hashes.

    Keys are written in the order of their numbers.
    """
    sample = [(number, hashes(key)) for number, key in enumerate(KEYS[:keys])]
    lying = [SampledKey(partition_of(number, current), number, number, current) for number, current in sample]
    fits = [
        sum(algorithm.partition_for(key.hashes[algorithm.hash_column], TODAY) == key.partition for key in lying)
        for algorithm in ALGORITHMS
    ]
    return conclude(
        TODAY,
        [PartitionCounts(keys=keys, fits=tuple(fits))],
        PlacementStudy(keys, tuple(fits), several, (), tuple(lying)),
    )


def test_the_vector_of_the_documentation() -> None:
    assert ALGORITHMS_BY_NAME["crc32"].partition_for(zlib.crc32(b"100:48069"), 12) == 6
    assert ALGORITHMS_BY_NAME["fnv1a"].partition_for(fnv1a(b"100:48069"), 12) == 3


@pytest.mark.parametrize("name", list(ALGORITHMS_BY_NAME))
def test_one_algorithm_is_known_by_a_score_of_one(name: str) -> None:
    one = ALGORITHMS_BY_NAME[name]
    reported = concluded(lambda _, current: one.partition_for(current[one.hash_column], TODAY))
    assert (reported.kind, reported.algorithms) == (PlacementKind.ONE, (name,))
    assert all(share < 0.9 for other, share in reported.scores.items() if other != name)


@pytest.mark.parametrize("counts", [(4, 6), (2, 6), (2, 4, 6), (5, 6), (3, 6)])
def test_added_partitions_are_listed_in_order(counts: tuple[int, ...]) -> None:
    reported = concluded(lambda number, current: current["crc32"] % counts[number * len(counts) // len(KEYS)])
    assert (reported.kind, reported.algorithms, reported.partition_counts) == (PlacementKind.GROWN, ("crc32",), counts)


def test_all_keys_in_the_first_partition_do_not_prove_a_single_partition() -> None:
    reported = concluded(lambda *_: 0, keys=200)
    assert reported.kind is PlacementKind.SINGLE


@pytest.mark.parametrize("planted", [12, 60, 200])
@pytest.mark.parametrize("partition", [0, 3])
def test_a_producer_that_always_selects_one_partition_is_not_growth(planted: int, partition: int) -> None:
    every = len(KEYS) // planted
    reported = concluded(lambda number, current: partition if number % every == 0 else current["crc32"] % TODAY)
    assert reported.kind is PlacementKind.OWN


def test_partitions_without_keys_are_reported_as_unused() -> None:
    reported = concluded(lambda _, current: current["crc32"] % 4)
    assert (reported.kind, reported.algorithms, reported.partition_counts) == (PlacementKind.FEWER, ("crc32",), (4,))
    assert "every key is where crc32 puts it over 4 of the 6 partitions" in conclusion_text(reported)


def test_the_usual_partitioner_of_a_topic_is_named_with_its_exceptions() -> None:
    reported = concluded(lambda number, current: 3 if number % 50 == 0 else current["crc32"] % TODAY)
    assert reported.kind is PlacementKind.OWN
    assert conclusion_text(reported).startswith("crc32 explains 98.")


@pytest.mark.parametrize("keys", [6, 12, 30])
def test_few_keys_do_not_prove_added_partitions(keys: int) -> None:
    reported = concluded(lambda number, current: current["crc32"] % (1, 2, 6)[number * 3 // keys], keys=keys)
    assert reported.kind is not PlacementKind.GROWN


def test_an_earlier_single_partition_is_never_concluded() -> None:
    """A producer that always selected partition 0 for the first keys looks the same."""
    reported = concluded(lambda number, current: 0 if number < 100 else current["crc32"] % TODAY)
    assert reported.kind is PlacementKind.OWN


def test_partitions_never_become_fewer() -> None:
    assert (
        concluded(lambda number, current: current["crc32"] % (6 if number < 300 else 4)).kind is not PlacementKind.GROWN
    )


def test_two_producers_side_by_side_are_not_growth() -> None:
    reported = concluded(lambda number, current: current["crc32" if number % 3 else "murmur2"] % TODAY)
    assert (reported.kind, reported.algorithms) == (PlacementKind.MIXED, ("crc32", "murmur2"))


def test_two_producers_one_after_the_other_are_not_growth() -> None:
    reported = concluded(lambda number, current: current["crc32" if number < 300 else "murmur2"] % TODAY)
    assert reported.kind is PlacementKind.MIXED


def test_a_custom_partitioner_has_no_keys_in_several_partitions() -> None:
    chance = random.Random(3)
    assert concluded(lambda number, _: number * 7 % TODAY).kind is PlacementKind.OWN
    assert concluded(lambda *_: chance.randrange(TODAY), several=400).kind is PlacementKind.SCATTERED


@pytest.mark.parametrize("seed", range(20))
def test_a_chance_match_is_no_explanation(seed: int) -> None:
    chance = random.Random(seed)
    assert concluded(lambda *_: chance.randrange(TODAY), keys=60).kind is PlacementKind.OWN


def test_no_keys_have_no_conclusion() -> None:
    assert conclude(TODAY, [PartitionCounts(records=5, null_keys=5)], None).kind is PlacementKind.NONE


def written(seed: int, keys: int, *counts: int) -> list[SampledKey]:
    """Return keys that murmur2 placed while the topic had each of ``counts`` partitions, one after the other."""
    chance = random.Random(seed)
    hashes = [chance.getrandbits(31) for _ in range(keys)]
    return [
        SampledKey(hashed % counts[number * len(counts) // keys], number, number, {"murmur2": hashed})
        for number, hashed in enumerate(hashes)
    ]


@pytest.mark.parametrize("seed", range(10))
def test_enough_keys_prove_the_current_number(seed: int) -> None:
    found = complete_since(written(seed, 1_000, PARTITIONS), PARTITIONS)
    assert found.keys() == set(range(PARTITIONS))
    assert found[PARTITIONS - 1] == 0
    assert all(100 < offset < 600 for partition, offset in found.items() if partition < PARTITIONS - 1)


@pytest.mark.parametrize("seed", range(50))
@pytest.mark.parametrize("earlier", range(1, PARTITIONS))
def test_nothing_is_proven_of_the_time_before_partitions_were_added(seed: int, earlier: int) -> None:
    found = complete_since(written(seed, 3_000, earlier, PARTITIONS), PARTITIONS)
    assert all(offset >= 1_500 for partition, offset in found.items() if partition < earlier)


def test_few_keys_prove_nothing() -> None:
    assert complete_since(written(1, 60, PARTITIONS), PARTITIONS).keys() <= {PARTITIONS - 1}


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
