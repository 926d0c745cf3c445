"""The clock that stamps the records, how far they are in the future, and how late they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from topicwarden.audit.inference.inferred_rule import InferenceContext, InferredRule
from topicwarden.audit.inference.topic_summary import TopicSummary
from topicwarden.model.units import DURATION

AHEAD: Final = (3_600_000, 86_400_000)
"""The values of ``max_ahead`` (ms) that are tried: Kafka's own default since 4.0 (KIP-1030), and a day."""
MAX_LATE: Final = 86_400_000
"""The value of ``max_late`` (ms) that is tried."""
_TYPES: Final = ("CreateTime", "LogAppendTime")


def infer(summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    """Yield the rules."""
    doubt = context.doubt(summary.records)
    types = {name: tally for name, tally in summary.timestamp_types.items() if tally.count}
    if len(types) > 1:
        counts = ", ".join(f"{name}: {tally.among(summary.records)}" for name, tally in sorted(types.items()))
        yield InferredRule(("timestamps", "type"), None, f"several types; {counts}")
    for name in _TYPES:
        if list(types) == [name]:
            yield InferredRule(("timestamps", "type"), name, f"all {summary.records:,} records", doubt)
    if list(types) != ["CreateTime"]:
        return
    ahead = summary.newest - context.read_at
    bound = next((each for each in AHEAD if ahead <= each), None)
    path = ("timestamps", "max_ahead")
    if bound is None:
        yield InferredRule(path, None, "the newest timestamp is more than a day after the clock of this machine")
    else:
        evidence = f"the newest of {summary.records:,} records is no further ahead of the clock of this machine"
        yield InferredRule(path, DURATION.format(bound), evidence, doubt)
    path = ("timestamps", "max_late")
    if context.late:
        yield InferredRule(path, None, f"not {DURATION.format(MAX_LATE)}: {context.late}")
    else:
        evidence = f"none of {summary.records:,} records is older than an earlier one by more"
        yield InferredRule(path, DURATION.format(MAX_LATE), evidence, doubt)
