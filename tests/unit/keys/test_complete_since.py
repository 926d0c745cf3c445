"""Test from which offset on keys prove that a topic had all its partitions."""

from __future__ import annotations

import random

import pytest

from topicwarden.audit.scan.complete_since import complete_since
from topicwarden.audit.scan.key_placement import SampledKey

PARTITIONS = 6


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
