"""Compare where the keys of a topic are with where each known partitioner puts them.

Nothing is inferred from shares: keys are not independent of their own hashes. A mirror, for example, writes long runs
of keys from one partition of its source. So an algorithm that explains every key is named, and otherwise only the share
of keys that each algorithm explains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS


@dataclass(frozen=True)
class MisplacedKey:
    """The number of keys in a partition that the declared partitioner assigns to another partition.

    ``fit_none`` counts the keys among them that are also misplaced with every smaller number of partitions. ``proven``
    counts those that fit a smaller number, and have a record that was written when producers knew today's number (see
    ``partition_growth.py``). ``offset`` is such a record of one of these keys, or else of any misplaced key.
    """

    keys: int
    fit_none: int
    proven: int
    offset: int


@dataclass(frozen=True)
class ScatteredKey:
    """A key in several partitions: its records in all of them, and its first record in one of them."""

    records: int
    partition: int
    offset: int


@dataclass(frozen=True)
class PlacementStudy:
    """The committed keys of one topic, read again.

    ``keys`` and ``fits`` are those of ``PartitionCounts``, over all partitions; crc32 explains an empty key everywhere.
    ``scattered_keys``: the number of keys in more than one partition; ``scattered_examples`` has some of them as
    ``(partition, offset)`` pairs. ``misplaced``: by partition, if a partitioner is declared. ``failed``: why a custom
    partitioner returned no result. ``hottest_scattered``: of the keys in several partitions, the one with most records.
    """

    keys: int
    fits: tuple[int, ...]
    scattered_keys: int
    scattered_examples: tuple[tuple[tuple[int, int], ...], ...]
    misplaced: Mapping[int, MisplacedKey] = field(default_factory=dict)
    failed: str = ""
    hottest_scattered: ScatteredKey | None = None


@dataclass(frozen=True)
class KeyPlacement:
    """The keys of one topic, and the shares of them that known partitioners explain.

    ``keys``: the number of distinct pairs of key and partition. ``scores``: the share of them that each algorithm
    explains with the current number of partitions. ``study`` is None if the counts of the scan sufficed.
    """

    partitions: int
    keys: int
    scores: Mapping[str, float]
    study: PlacementStudy | None = None

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms that explain every key; several if few partitions or keys do not distinguish them."""
        return tuple(name for name, share in self.scores.items() if share == 1)


def scores(counts: Iterable[PartitionCounts]) -> dict[str, float]:
    """Return the share of the distinct keys that each algorithm explains; empty if no keys were counted."""
    keyed = [partition for partition in counts if partition.fits and partition.keys]
    keys = sum(partition.keys for partition in keyed)
    if not keys:
        return {}
    return {
        algorithm.name: sum(partition.fits[number] for partition in keyed) / keys
        for number, algorithm in enumerate(ALGORITHMS)
    }


def key_placement(partitions: int, counts: Iterable[PartitionCounts], study: PlacementStudy | None) -> KeyPlacement:
    """Return the placement of a topic's keys, from the committed keys of ``study``, or else from the scan's counts."""
    keyed = [PartitionCounts(keys=study.keys, fits=study.fits)] if study is not None else list(counts)
    score = scores(keyed)
    return KeyPlacement(partitions, sum(each.keys for each in keyed if each.fits) if score else 0, score, study)
