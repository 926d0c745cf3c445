"""Conclude from counts alone which partitioner placed the keys of a topic.

The right algorithm explains every key. A wrong one explains about one key in n, with n partitions. If two algorithms
together explain all keys, there are two kinds of producer. If old keys fit a smaller number of partitions, partitions
were added later. This needs enough keys for each number, and hardly any key of the later number among the older ones.
An earlier time with one partition is never concluded: a producer that always selects partition 0 looks the same. If no
algorithm explains the keys, and each key is in only one partition, the partitioner may be a custom one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations
from math import exp, gcd, log

from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS, Algorithm

ALMOST_ALL = 0.99
"""The share of keys that two causes must explain; chance, clocks and manual writes account for the rest."""

_SECTIONS = 8
"""The keys of a partition are examined in this many sections, in the order of their first record."""
_FEWEST_KEYS = 20
"""Fewer keys prove nothing: in a section, or that fit one number of partitions only."""
_CHANCE = 1e-6
"""A cause is rejected if it explains the keys with a lower probability."""


class PlacementKind(StrEnum):
    """The conclusion from the placement of keys about the producers."""

    NONE = "no keys"
    ONE = "one partitioner"
    GROWN = "one partitioner, and partitions were added since"
    MIXED = "two kinds of producer"
    FEWER = "one partitioner, over fewer partitions than there are"
    OWN = "a partitioner of its own"
    SINGLE = "all keys are in one partition"
    SCATTERED = "no partitioner: keys lie in several partitions"


@dataclass(frozen=True)
class SampledKey:
    """A key in a partition: the offsets of its first and last record there, and its hashes by hash column."""

    partition: int
    first: int
    last: int
    hashes: Mapping[str, int]


@dataclass(frozen=True)
class MisplacedKey:
    """The number of keys in a partition that the declared partitioner assigns to another partition.

    ``unexplained`` counts the keys among them that are also misplaced with every smaller number of
    partitions. ``offset`` is the first record of such a key, or else of any misplaced key.
    """

    keys: int
    unexplained: int
    offset: int


@dataclass(frozen=True)
class ScatteredKey:
    """A key in several partitions: its records in all of them, and its first record in one of them."""

    records: int
    partition: int
    offset: int


@dataclass(frozen=True)
class PlacementStudy:
    """The committed keys of one topic: the counts of all keys, and a random sample.

    ``keys`` and ``fits`` are those of ``PartitionCounts``, over all partitions; crc32 explains an empty key everywhere.
    ``scattered_keys``: the number of keys in more than one partition; ``scattered_examples`` has some of them as
    ``(partition, offset)`` pairs. ``misplaced``: by partition, if a partitioner is declared. ``failed``: why a custom
    partitioner returned no result. ``hottest_scattered``: of the keys in several partitions, the one with most records.
    """

    keys: int
    fits: tuple[int, ...]
    scattered_keys: int
    scattered_examples: tuple[tuple[tuple[int, int], ...], ...]
    sample: tuple[SampledKey, ...]
    misplaced: Mapping[int, MisplacedKey] = field(default_factory=dict)
    failed: str = ""
    hottest_scattered: ScatteredKey | None = None


@dataclass(frozen=True)
class KeyPlacement:
    """The conclusion about one topic.

    ``scores``: the share of keys that each algorithm explains with the current number of partitions. ``algorithms``:
    those that explain the keys, alone (``ONE``, ``GROWN``, ``FEWER``) or together (``MIXED``). ``ONE`` has several
    algorithms if there are too few partitions or keys to distinguish them. ``partition_counts``: the numbers of
    partitions that the topic has had, ascending; for ``FEWER``, the number that its producers use.
    """

    kind: PlacementKind
    partitions: int
    keys: int
    scores: Mapping[str, float]
    algorithms: tuple[str, ...] = ()
    partition_counts: tuple[int, ...] = ()
    study: PlacementStudy | None = None


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


def conclude(partitions: int, counts: Iterable[PartitionCounts], study: PlacementStudy | None) -> KeyPlacement:
    """Return the conclusion about a topic's keys; ``study`` is needed if no algorithm explains every key."""
    partition_counts = list(counts)
    if study is not None:  # the study has only committed keys
        partition_counts = [PartitionCounts(keys=study.keys, fits=study.fits)]
    score, keys = scores(partition_counts), sum(each.keys for each in partition_counts if each.fits)
    if not score:
        return KeyPlacement(PlacementKind.NONE, partitions, 0, {}, study=study)
    exact = tuple(name for name, share in score.items() if share == 1)
    if exact:
        return KeyPlacement(PlacementKind.ONE, partitions, keys, score, exact, (partitions,), study)
    if study is None:
        return KeyPlacement(PlacementKind.OWN, partitions, keys, score)
    kind, algorithms, past_counts = _explanation(study, partitions)
    return KeyPlacement(kind, partitions, keys, score, algorithms, past_counts, study)


def _explanation(study: PlacementStudy, partitions: int) -> tuple[PlacementKind, tuple[str, ...], tuple[int, ...]]:
    """Return kind, algorithms and partition counts of a ``KeyPlacement`` if no algorithm explains every key."""
    if grown := _explain_by_growth(study.sample, partitions):
        return PlacementKind.GROWN, (grown[0].name,), grown[1]
    if pair := _explain_by_two(study.sample, partitions):
        return PlacementKind.MIXED, pair, (partitions,)
    if fewer := _explain_by_fewer(study.sample, partitions):
        return PlacementKind.FEWER, (fewer[0].name,), (fewer[1],)
    return _unexplained(study), (), (partitions,)


def _explain_by_fewer(sample: tuple[SampledKey, ...], partitions: int) -> tuple[Algorithm, int] | None:
    """Return the algorithm that explains all keys over fewer partitions, at least two, and their number."""
    if len(sample) < _FEWEST_KEYS:
        return None
    for algorithm in ALGORITHMS:
        for count in range(partitions - 1, 1, -1):
            if all(_fits(key, algorithm, count) for key in sample):
                return algorithm, count
    return None


def _unexplained(study: PlacementStudy) -> PlacementKind:
    if study.scattered_keys:
        return PlacementKind.SCATTERED
    in_one = len(by_partition(study.sample)) == 1 and len(study.sample) >= _FEWEST_KEYS
    return PlacementKind.SINGLE if in_one else PlacementKind.OWN


def _explain_by_growth(sample: tuple[SampledKey, ...], partitions: int) -> tuple[Algorithm, tuple[int, ...]] | None:
    """Return the algorithm that explains the keys with a growing number of partitions, and these numbers."""
    for algorithm in ALGORITHMS:
        counts = sorted({partitions, *_section_counts(sample, algorithm, partitions)})
        if len(counts) > 1 and _in_order(sample, algorithm, counts):
            for count in counts[:-1]:  # with one partition, every key in partition 0 fits, so some counts are needless
                fewer = [each for each in counts if each != count]
                counts = fewer if _in_order(sample, algorithm, fewer) else counts
            if len(counts) > 1 and counts[0] > 1 and counts[-1] == partitions and _is_shown(sample, algorithm, counts):
                return algorithm, tuple(counts)
    return None


def _is_shown(sample: tuple[SampledKey, ...], algorithm: Algorithm, counts: list[int]) -> bool:
    """Return whether enough keys fit each of ``counts`` only, and those of the last one come after the others."""
    fitting_counts = [[count for count in counts if _fits(key, algorithm, count)] for key in sample]
    only = Counter(fitting[0] for fitting in fitting_counts if len(fitting) == 1)
    return all(only[count] >= _FEWEST_KEYS for count in counts) and all(
        _are_older(keys, algorithm, counts) for keys in by_partition(sample).values()
    )


def _are_older(keys: list[SampledKey], algorithm: Algorithm, counts: list[int]) -> bool:
    """Return whether the keys of a partition that do not fit the last of ``counts`` are older than the others.

    Until the last of them, no more keys may fit it than do so by chance. A few may be late, as in ``_in_order``.
    """
    last = counts[-1]
    old = [number for number, key in enumerate(keys) if not _fits(key, algorithm, last)]
    if not old:
        return True
    until = old[int(ALMOST_ALL * (len(old) - 1))] + 1
    share = sum(_fits(key, algorithm, last) for key in keys[:until]) / until
    by_chance = max(gcd(count, last) / last for count in counts[:-1])
    return share <= by_chance or exp(-until * divergence(share, by_chance)) > _CHANCE


def _section_counts(sample: tuple[SampledKey, ...], algorithm: Algorithm, partitions: int) -> Iterator[int]:
    """Yield the largest number of partitions that explains all keys of a section, for each section of a partition."""
    for keys in by_partition(sample).values():
        size = max(_FEWEST_KEYS, -(-len(keys) // _SECTIONS))
        for start in range(0, len(keys), size):
            section = keys[start : start + size]
            if len(section) >= _FEWEST_KEYS or len(keys) < _FEWEST_KEYS:
                fitting = [
                    count
                    for count in range(partitions, section[0].partition, -1)
                    if all(_fits(key, algorithm, count) for key in section)
                ]
                yield from fitting[:1]


def _in_order(sample: tuple[SampledKey, ...], algorithm: Algorithm, counts: list[int]) -> bool:
    """Return whether every key fits one of ``counts``, and in each partition the counts grow over time.

    A few keys may be out of order, because producers learn of new partitions at different times.
    """
    for keys in by_partition(sample).values():
        fitting_counts = [[count for count in counts if _fits(key, algorithm, count)] for key in keys]
        if not all(fitting_counts):
            return False
        least = 0
        out_of_order = 0
        for fitting in fitting_counts:
            possible = [count for count in fitting if count >= least]
            out_of_order += not possible
            least = min(possible) if possible else least
        if out_of_order > (1 - ALMOST_ALL) * len(keys):
            return False
    return True


def _explain_by_two(sample: tuple[SampledKey, ...], partitions: int) -> tuple[str, ...] | None:
    """Return the two algorithms that explain the keys together, the more frequent first."""
    fits = {
        algorithm.name: {number for number, key in enumerate(sample) if _fits(key, algorithm, partitions)}
        for algorithm in ALGORITHMS
    }
    enough = ALMOST_ALL * len(sample)
    pairs = [
        pair
        for pair in combinations(fits, 2)
        if len(fits[pair[0]] | fits[pair[1]]) >= enough
        and all(len(fits[name]) < enough for name in pair)
        and all(_completes(fits[one], fits[other], len(sample)) for one, other in (pair, pair[::-1]))
    ]
    if not pairs:
        return None
    best = max(pairs, key=lambda pair: len(fits[pair[0]] | fits[pair[1]]))
    return tuple(sorted(best, key=lambda name: -len(fits[name])))


def _completes(fitting: set[int], others: set[int], keys: int) -> bool:
    """Return whether an algorithm explains enough keys that the other one does not, and most of those."""
    added = len(fitting - others)
    return added >= _FEWEST_KEYS and 2 * added > keys - len(others)


def _fits(key: SampledKey, algorithm: Algorithm, count: int) -> bool:
    return algorithm.partition_for(key.hashes[algorithm.hash_column], count) == key.partition


def by_partition(sample: Iterable[SampledKey]) -> dict[int, list[SampledKey]]:
    """Return the keys of each partition in the order of their first record."""
    keys: dict[int, list[SampledKey]] = {}
    for key in sorted(sample, key=lambda key: key.first):
        keys.setdefault(key.partition, []).append(key)
    return keys


def divergence(share: float, expected: float) -> float:
    """Return the Kullback-Leibler divergence of two coins; ``exp(-n * d)`` bounds the probability (Chernoff)."""
    terms = ((share, expected), (1 - share, 1 - expected))
    return sum(part * log(part / whole) for part, whole in terms if part > 0)
