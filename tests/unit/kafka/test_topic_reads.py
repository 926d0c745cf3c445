"""Test when two descriptions of a topic are the same to Kafka."""

from __future__ import annotations

import pytest

from topicwarden.kafka.topic_reads import TopicProperties


@pytest.mark.parametrize(
    ("config", "same"),
    [
        ({"cleanup.policy": "compact,delete", "preallocate": "true"}, True),
        ({"cleanup.policy": "compact, delete", "preallocate": "TRUE"}, True),
        ({"cleanup.policy": "delete", "preallocate": "true"}, False),
        ({"cleanup.policy": "compact,delete"}, False),
        ({"cleanup.policy": "compact,delete", "preallocate": "true", "flush.ms": "1"}, False),
    ],
)
def test_settings_that_are_spelled_differently_are_the_same(config: dict[str, str], same: bool) -> None:
    live = TopicProperties(3, 2, {"cleanup.policy": "compact,delete", "preallocate": "true"})
    assert live.agrees(TopicProperties(3, 2, config)) is same
    assert not live.agrees(TopicProperties(4, 2, config))
    assert not live.agrees(TopicProperties(3, 1, config))
