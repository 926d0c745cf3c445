"""Where keys lie, and which partitioner put them there: the conclusion, from counts alone.

The right algorithm explains every key, a wrong one about one in as many as there are partitions. Two that
explain all together are two kinds of producer; old keys that fit a smaller count tell of partitions that were
added since; where none explains the keys, and each lies in one partition, the partitioner is one's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations

from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS, Algorithm

ALMOST_ALL = 0.99
"""The share of keys that an explanation by two causes must reach; chance, clocks and manual writes leave a rest."""

_SECTIONS = 8
_FEWEST_KEYS = 20


class PlacementKind(StrEnum):
    """What the keys' places tell of who wrote them."""

    NONE = "no keys"
    ONE = "one partitioner"
    GROWN = "one partitioner, and partitions were added since"
    MIXED = "two kinds of producer"
    OWN = "a partitioner of its own"
    SCATTERED = "no partitioner: keys lie in several partitions"


@dataclass(frozen=True)
class SampledKey:
    """A key in a partition: the offsets of its first and last record there, and its hashes by column of the reader."""

    partition: int
    first: int
    last: int
    hashes: Mapping[str, int]


@dataclass(frozen=True)
class MisplacedKey:
    """Keys of a partition that the declared partitioner puts elsewhere; ``never`` for whatever smaller count, too.

    ``offset`` is the first record of one of the latter, or else of the former.
    """

    keys: int
    never: int
    offset: int


@dataclass(frozen=True)
class PlacementStudy:
    """A closer look at the keys of one topic that are committed: a fair sample, and what was counted of all.

    ``keys`` and ``fits`` are those of ``PartitionCounts``, over all partitions. ``several``: keys that are in more than
    one partition, with some as ``(partition, offset)`` pairs. ``misplaced`` by partition, where a partitioner is
    declared. ``failed`` says why a custom partitioner gave no answer.
    """

    keys: int
    fits: tuple[int, ...]
    several: int
    several_at: tuple[tuple[tuple[int, int], ...], ...]
    sample: tuple[SampledKey, ...]
    misplaced: Mapping[int, MisplacedKey] = field(default_factory=dict)
    failed: str = ""


@dataclass(frozen=True)
class KeyPlacement:
    """The conclusion on one topic. ``scores``: the share of keys that each algorithm explains at today's count.

    ``algorithms`` explain the keys, alone (``ONE``: any of them, where there are too few partitions or keys to tell;
    ``GROWN``) or together (``MIXED``). ``counts``: the numbers of partitions in force so far, ascending.
    """

    kind: PlacementKind
    partitions: int
    keys: int
    scores: Mapping[str, float]
    algorithms: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    study: PlacementStudy | None = None


def scores(counts: Iterable[PartitionCounts]) -> dict[str, float]:
    """The share of the distinct keys that each algorithm explains; nothing where no keys were counted."""
    held = [each for each in counts if each.fits and each.keys]
    keys = sum(each.keys for each in held)
    return (
        {algorithm.name: sum(each.fits[number] for each in held) / keys for number, algorithm in enumerate(ALGORITHMS)}
        if keys
        else {}
    )


def conclude(partitions: int, counts: Iterable[PartitionCounts], study: PlacementStudy | None) -> KeyPlacement:
    """What the places of a topic's keys tell; ``study`` is needed where no algorithm explains every key."""
    held = list(counts)
    if study is not None:  # of committed keys alone
        held = [PartitionCounts(keys=study.keys, fits=study.fits)]
    score, keys = scores(held), sum(each.keys for each in held if each.fits)
    if not score:
        return KeyPlacement(PlacementKind.NONE, partitions, 0, {}, study=study)
    sure = tuple(name for name, share in score.items() if share == 1)
    if sure:
        return KeyPlacement(PlacementKind.ONE, partitions, keys, score, sure, (partitions,), study)
    if study is None:
        return KeyPlacement(PlacementKind.OWN, partitions, keys, score)
    if grown := _grown(study.sample, partitions):
        algorithm, in_force = grown
        return KeyPlacement(PlacementKind.GROWN, partitions, keys, score, (algorithm.name,), in_force, study)
    if mixed := _mixed(study.sample, partitions):
        return KeyPlacement(PlacementKind.MIXED, partitions, keys, score, mixed, (partitions,), study)
    kind = PlacementKind.SCATTERED if study.several else PlacementKind.OWN
    return KeyPlacement(kind, partitions, keys, score, (), (partitions,), study)


def _grown(sample: tuple[SampledKey, ...], partitions: int) -> tuple[Algorithm, tuple[int, ...]] | None:
    """The algorithm that explains the keys at counts which only grew, and those counts."""
    for algorithm in ALGORITHMS:
        in_force = sorted({partitions, *_section_counts(sample, algorithm, partitions)})
        if len(in_force) > 1 and _in_order(sample, algorithm, in_force):
            for count in in_force[:-1]:  # partition 0 fits a count of one, whatever is in it
                fewer = [each for each in in_force if each != count]
                in_force = fewer if _in_order(sample, algorithm, fewer) else in_force
            return algorithm, tuple(in_force)
    return None


def _section_counts(sample: tuple[SampledKey, ...], algorithm: Algorithm, partitions: int) -> Iterator[int]:
    """The one count that explains all keys first written in some stretch of a partition."""
    for held in _by_partition(sample).values():
        size = max(_FEWEST_KEYS, -(-len(held) // _SECTIONS))
        for start in range(0, len(held), size):
            section = held[start : start + size]
            if len(section) >= _FEWEST_KEYS or len(held) < _FEWEST_KEYS:
                fitting = [
                    count
                    for count in range(partitions, section[0].partition, -1)
                    if all(_fits(key, algorithm, count) for key in section)
                ]
                yield from fitting[:1]


def _in_order(sample: tuple[SampledKey, ...], algorithm: Algorithm, in_force: list[int]) -> bool:
    """Whether every key fits one of the counts, and in each partition larger counts come after smaller ones."""
    for held in _by_partition(sample).values():
        explained = [[count for count in in_force if _fits(key, algorithm, count)] for key in held]
        if not all(explained):
            return False
        least = 0
        wrong = 0
        for counts in explained:
            possible = [count for count in counts if count >= least]
            wrong += not possible
            least = min(possible) if possible else least
        if wrong > (1 - ALMOST_ALL) * len(held):  # producers learn of new partitions one by one
            return False
    return True


def _mixed(sample: tuple[SampledKey, ...], partitions: int) -> tuple[str, ...] | None:
    """The two algorithms that explain the keys together, the more frequent first."""
    fits = {
        algorithm.name: {number for number, key in enumerate(sample) if _fits(key, algorithm, partitions)}
        for algorithm in ALGORITHMS
    }
    enough = ALMOST_ALL * len(sample)
    pairs = [
        pair
        for pair in combinations(fits, 2)
        if len(fits[pair[0]] | fits[pair[1]]) >= enough and all(len(fits[name]) < enough for name in pair)
    ]
    if not pairs or len(sample) < _FEWEST_KEYS:
        return None
    best = max(pairs, key=lambda pair: len(fits[pair[0]] | fits[pair[1]]))
    return tuple(sorted(best, key=lambda name: -len(fits[name])))


def _fits(key: SampledKey, algorithm: Algorithm, count: int) -> bool:
    return algorithm.of(key.hashes[algorithm.hash_column], count) == key.partition


def _by_partition(sample: Iterable[SampledKey]) -> dict[int, list[SampledKey]]:
    """In the order in which the keys were first written."""
    held: dict[int, list[SampledKey]] = {}
    for key in sorted(sample, key=lambda key: key.first):
        held.setdefault(key.partition, []).append(key)
    return held
