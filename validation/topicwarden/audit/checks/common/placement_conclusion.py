"""Says which partitioners explain the placement of keys, for the checks of keys."""

from __future__ import annotations

from topicwarden.audit.keys.key_placement import KeyPlacement, PlacementKind
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS_BY_NAME

_FIXED_TEXTS = {
    PlacementKind.OWN: "no known partitioner explains the keys; each is in one partition, perhaps by a custom one",
    PlacementKind.SINGLE: "all keys are in one partition: a producer always selects it, or the topic had no other one",
    PlacementKind.SCATTERED: "no known partitioner explains the keys, and some are in several partitions",
    PlacementKind.NONE: "there are no keys",
}
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
        case kind:
            return _FIXED_TEXTS[kind]


def score_evidence(placement: KeyPlacement) -> dict[str, float]:
    """Return, as evidence, the share of keys that each algorithm explains for the current number of partitions."""
    return {f"score_{name}": round(share, 4) for name, share in placement.scores.items()}
