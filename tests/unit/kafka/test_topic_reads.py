"""Test when two descriptions of a topic are the same to Kafka."""

from __future__ import annotations

import pytest

from topicwarden.kafka.read.topic_reads import TopicProperties


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


def test_a_setting_that_was_set_to_its_default_may_be_reported_as_not_set() -> None:
    live = TopicProperties(3, 2, {"segment.ms": "9"}, {"retention.ms": "604800000", "flush.ms": "1"})
    assert live.agrees(TopicProperties(3, 2, {"segment.ms": "9", "retention.ms": "604800000"}))
    assert live.agrees(TopicProperties(3, 2, {"segment.ms": "9"}))
    assert not live.agrees(TopicProperties(3, 2, {"segment.ms": "9", "retention.ms": "1"}))
    assert not live.agrees(TopicProperties(3, 2, {"retention.ms": "604800000"}))
    assert live.config_like({"retention.ms": "604800000"}) == {"segment.ms": "9", "retention.ms": "604800000"}
    assert live.config_like({"retention.ms": "1"}) == live.config_like({}) == {"segment.ms": "9"}
