"""Says which partitioners explain the placement of keys, for the checks of keys."""

from __future__ import annotations

from topicwarden.audit.scan.key_placement import KeyPlacement, PlacementKind
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS_BY_NAME

_FIXED_TEXTS = {
    PlacementKind.OWN: "no known partitioner explains the keys; each is in one partition, perhaps by a custom one",
    PlacementKind.SINGLE: "all keys are in one partition: a producer always selects it, or the topic had no other one",
    PlacementKind.SCATTERED: "no known partitioner explains the keys, and some are in several partitions",
    PlacementKind.NONE: "there are no keys",
}
_MOST = 0.9
"""The share of keys from which a partitioner is the usual one of a topic, with exceptions."""
_EMPTY_KEY = ", except for the empty key, which librdkafka's consistent_random puts into any partition"


def conclusion_text(placement: KeyPlacement) -> str:
    """Return the conclusion about the key placement as text."""
    names = " and ".join(placement.algorithms)
    match placement.kind:
        case PlacementKind.ONE:
            empty_key = _EMPTY_KEY if placement.study and placement.study.scattered_keys else ""
            return f"every key is where {' or '.join(placement.algorithms)} puts it{empty_key}"
        case PlacementKind.GROWN:
            counts = ", then ".join(map(str, placement.partition_counts))
            return f"one partitioner, {names}, over {counts} partitions: partitions were added since"
        case PlacementKind.MIXED:
            producers = "; ".join(f"{name}: {ALGORITHMS_BY_NAME[name].producers}" for name in placement.algorithms)
            shares = ", ".join(f"{name} {placement.scores[name]:.2%}" for name in placement.algorithms)
            return f"two kinds of producer, {names} (today's keys: {shares}) ({producers})"
        case PlacementKind.FEWER:
            (count,) = placement.partition_counts
            return (
                f"every key is where {names} puts it over {count} of the {placement.partitions} partitions: "
                "a producer does not use the others, or nothing was written since they were added"
            )
        case PlacementKind.OWN | PlacementKind.SCATTERED if max(placement.scores.values(), default=0) >= _MOST:
            name, share = max(placement.scores.items(), key=lambda item: item[1])
            return f"{name} explains {share:.2%} of the keys: another producer, or a fixed partition, placed the others"
        case kind:
            return _FIXED_TEXTS[kind]


def score_evidence(placement: KeyPlacement) -> dict[str, float]:
    """Return, as evidence, the share of keys that each algorithm explains for the current number of partitions."""
    return {f"score_{name}": round(share, 4) for name, share in placement.scores.items()}
