"""Find the offset from which on a topic certainly had all its partitions, by the keys before that offset.

While a topic has fewer partitions, some keys fit the later number by chance: a key of one of ``c`` partitions fits
``n`` with a probability of at most ``gcd(c, n) / n``, and that is at most one half. If many more of the first keys of a
partition fit ``n``, at least one of them was written when there were ``n``, and so was every later record, because
Kafka never removes a partition (KIP-195). Only murmur2 allows this conclusion: it mixes all bits of a key. The lowest
bits of crc32 and FNV-1a are sums of a key's bits, so that keys that are alike may all fit by the same chance.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd, log
from typing import Final

from topicwarden.audit.scan.key_placement import SampledKey, by_partition, divergence
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS_BY_NAME

_CERTAIN: Final = 64 * log(2)
"""The negative logarithm of the largest probability of an error."""
_MURMUR2: Final = ALGORITHMS_BY_NAME["murmur2"]


def complete_since(sample: Iterable[SampledKey], partitions: int) -> dict[int, int]:
    """Return, by partition, an offset from which on every record was written with all ``partitions``.

    ``sample``: keys that producers place with murmur2. Partitions without such an offset are missing.
    """
    found = {}
    for partition, keys in by_partition(sample).items():
        chances = [gcd(count, partitions) / partitions for count in range(partition + 1, partitions)]
        if not chances:  # with fewer partitions, this one would not exist
            found[partition] = 0
            continue
        fitting = 0
        for number, key in enumerate(keys, 1):
            fitting += _MURMUR2.partition_for(key.hashes[_MURMUR2.hash_column], partitions) == partition
            share = fitting / number
            if share > max(chances) and number * divergence(share, max(chances)) > _CERTAIN:
                found[partition] = key.first
                break
    return found
