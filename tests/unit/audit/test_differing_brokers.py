"""Test that no check fails by a setting that the topic inherits from brokers with different values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.unit.checks.cases import seen_again
from tests.unit.checks.retention import INTERVAL_MS, expired
from topicwarden.audit.judge import judge
from topicwarden.audit.subject import AuditedTopic
from topicwarden.kafka.read.snapshot import SET_ON_TOPIC
from topicwarden.model.verdict import Verdict

SAME = {1: {"log.retention.hours": "168"}, 2: {"log.retention.hours": "168"}}
DIFFERENT = {1: {"log.retention.hours": "168"}, 2: {"log.retention.hours": "336"}}
ELSEWHERE = {1: {"log.retention.bytes": "1"}, 2: {"log.retention.bytes": "2"}}


def overdue(brokers: Mapping[int, Mapping[str, str]], source: str) -> AuditedTopic:
    """Return a topic with records that one broker's retention.ms would have deleted, with its ``source``."""
    of = seen_again(expired(), INTERVAL_MS + 1)
    assert of.live
    snapshot = replace(of.snapshot, broker_configs=brokers)
    return replace(of, snapshot=snapshot, live=replace(of.live, sources={**of.live.sources, "retention.ms": source}))


@pytest.mark.parametrize(
    ("brokers", "source", "verdict"),
    [
        (SAME, "STATIC_BROKER_CONFIG", Verdict.FAIL),
        (ELSEWHERE, "STATIC_BROKER_CONFIG", Verdict.FAIL),
        (DIFFERENT, SET_ON_TOPIC, Verdict.FAIL),
        (DIFFERENT, "STATIC_BROKER_CONFIG", Verdict.UNDECIDABLE),
    ],
)
def test_the_leader_may_have_another_value_than_the_broker_that_answered(
    brokers: Mapping[int, Mapping[str, str]], source: str, verdict: Verdict
) -> None:
    (result,) = judge(overdue(brokers, source))["retention-time"]
    assert result.verdict is verdict
    reported = "retention.ms is not set on the topic, and differs by broker: 7d on 1; 14d on 2"
    assert (reported in result.because) is (verdict is Verdict.UNDECIDABLE)
