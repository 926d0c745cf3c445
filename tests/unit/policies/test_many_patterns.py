"""Test that each pattern of a policy file is not compared with each topic."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from topicwarden.model.problem import Location
from topicwarden.model.topic import Topic
from topicwarden.policies.scope import PlacedPattern, Scope, unmatched_patterns

NAMES = [f"d.entity-{number}" for number in range(3_000)]


class CountedTopics(list[Topic]):
    """Topics that count how often they are read."""

    reads = 0

    def __iter__(self) -> Iterator[Topic]:
        self.reads += 1
        return super().__iter__()


@pytest.mark.usefixtures("comparisons")
def test_topics_are_read_once_for_all_patterns_of_a_scope() -> None:
    topics = CountedTopics(Topic(name, 1, 1, {}) for name in NAMES)
    placed = [PlacedPattern(Scope(), f"{name}{end}", Location("p")) for name in NAMES[:200] for end in ("", "-x")]
    unmatched = [pattern.pattern for pattern, _ in unmatched_patterns(placed, {"dev": topics})]
    assert unmatched == [f"{name}-x" for name in NAMES[:200]]
    assert topics.reads == 1
