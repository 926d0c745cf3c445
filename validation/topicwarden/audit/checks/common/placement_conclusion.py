"""Says how many keys known partitioners explain, for the checks of keys."""

from __future__ import annotations

from topicwarden.audit.scan.key_placement import KeyPlacement

_EMPTY_KEY = ", except for the empty key, which librdkafka's consistent_random puts into any partition"


def placement_text(placement: KeyPlacement) -> str:
    """Return where the keys are, in the words of partitioners."""
    if placement.algorithms:
        empty_key = _EMPTY_KEY if placement.study and placement.study.scattered_keys else ""
        return f"every key is where {' or '.join(placement.algorithms)} puts it{empty_key}"
    shares = ", ".join(
        f"{name} {share:.2%}" for name, share in sorted(placement.scores.items(), key=lambda each: (-each[1], each[0]))
    )
    return f"no known partitioner explains every key with {placement.partitions} partitions: {shares}"


def score_evidence(placement: KeyPlacement) -> dict[str, float]:
    """Return, as evidence, the share of keys that each algorithm explains for the current number of partitions."""
    return {f"score_{name}": round(share, 4) for name, share in placement.scores.items()}
