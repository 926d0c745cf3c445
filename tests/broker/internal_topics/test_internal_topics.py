"""Test the findings about consumer groups and the topics of Kafka, Connect and Streams, on a real broker."""

from __future__ import annotations

import pytest

from tests.broker.internal_topics.conftest import LAG, NAME_ALONE, NOT_CONNECTS, Looks
from tests.support.applications import connect, streams
from tests.support.findings import finding
from topicwarden.model.finding import Finding
from topicwarden.model.verdict import Verdict

CONNECTS = (connect.CONFIGS, connect.OFFSETS, connect.STATUS)
STREAMS = (streams.CHANGELOG, streams.REPARTITION, streams.WINDOWED)
KAFKAS = ("__consumer_offsets", "__transaction_state")
FAIL, SUSPECT, PASS, UNDECIDABLE = Verdict.FAIL, Verdict.SUSPECT, Verdict.PASS, Verdict.UNDECIDABLE


def test_internal_topics_as_created_by_connect_and_streams_pass(looks: Looks) -> None:
    names = [topic.name for topic in looks.healthy.topics]
    assert set(names) == {*CONNECTS, *STREAMS, *KAFKAS, streams.WORDS, connect.LINES}
    assert [one for one in looks.healthy.findings if one.verdict is not PASS] == []
    for topic in (*CONNECTS, *STREAMS, *KAFKAS):
        assert finding(looks.healthy, topic, "internal-policy").verdict is PASS


@pytest.mark.parametrize(
    ("topic", "how"),
    [
        *((topic, "its newest records, and a group of Connect workers") for topic in CONNECTS),
        *((topic, "group word-count, which commits as Kafka Streams does") for topic in STREAMS),
    ],
)
def test_internal_topics_need_no_declaration_and_have_a_reason(looks: Looks, topic: str, how: str) -> None:
    undeclared = finding(looks.healthy, topic, "topic-undeclared")
    assert undeclared.verdict is PASS
    assert how in undeclared.message


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        (connect.OFFSETS, "cleanup.policy is delete"),
        (connect.CONFIGS, "has 2 partitions"),
        (streams.CHANGELOG, "cleanup.policy is delete"),
        (streams.REPARTITION, "retention.ms is 1,000"),
        ("__transaction_state", "cleanup.policy is delete"),
    ],
)
def test_losing_application_state_fails_if_the_application_has_stopped(looks: Looks, topic: str, message: str) -> None:
    for report in (looks.broken, looks.later):
        policy = finding(report, topic, "internal-policy")
        assert policy.verdict is FAIL
        assert policy.message.startswith(message)


def test_time_based_deletion_of_the_offsets_topic_fails(looks: Looks) -> None:
    assert finding(looks.offsets, "__consumer_offsets", "internal-policy").verdict is FAIL


def test_possibly_valid_internal_topics_are_undecidable(looks: Looks) -> None:
    for topic in (streams.WINDOWED, NAME_ALONE):
        assert finding(looks.broken, topic, "internal-policy").verdict is UNDECIDABLE
    assert "its name alone" in finding(looks.broken, NAME_ALONE, "topic-undeclared").message


def test_a_topic_named_like_those_of_connect_has_no_role(looks: Looks) -> None:
    assert finding(looks.broken, NOT_CONNECTS, "topic-undeclared").verdict is FAIL
    assert not [one for one in looks.broken.of_topic(NOT_CONNECTS) if one.check == "internal-policy"]


def test_committed_offsets_that_nobody_cleans_are_suspect_and_then_proven(looks: Looks) -> None:
    verdicts = [
        {one.verdict for one in report.of_topic("__consumer_offsets") if one.check == "compaction-ratio"}
        for report in (looks.healthy, looks.broken, looks.later)
    ]
    assert SUSPECT in verdicts[1] - verdicts[0]
    assert FAIL in verdicts[2] - verdicts[1]


def lag(looks: Looks, topic: str) -> list[Finding]:
    return [one for one in looks.broken.of_topic(topic) if one.check == "group-lag"]


def test_records_lost_by_a_group_are_counted_exactly(looks: Looks) -> None:
    reader, asleep = lag(looks, "lag.lost")
    assert (reader.verdict, reader.partitions) == (FAIL, [0])
    assert reader.evidence == {"group": "reader", "members": 1, "lost_offsets": 30}
    assert (asleep.verdict, asleep.evidence) == (UNDECIDABLE, {"groups": 1, "group": "asleep", "offsets": 20})
    assert "group asleep: 20 offsets in 1 partition" in asleep.because


def test_a_group_whose_members_are_gone_is_undecidable(looks: Looks) -> None:
    found = [one for one in looks.later.of_topic("lag.lost") if one.check == "group-lag"]
    assert [(one.verdict, one.evidence["offsets"]) for one in found] == [(UNDECIDABLE, 50)]


@pytest.mark.parametrize(
    ("topic", "verdict", "offsets", "output"),
    [
        ("lag.soon", SUSPECT, 40, "deleted soon"),
        ("lag.ahead", UNDECIDABLE, 25, "after the log end"),
        ("lag.deletions", UNDECIDABLE, 12, "may miss deletions among them"),
    ],
)
def test_records_that_a_group_will_lose_are_reported(
    looks: Looks, topic: str, verdict: Verdict, offsets: int, output: str
) -> None:
    (found,) = lag(looks, topic)
    assert (found.verdict, found.evidence["offsets"]) == (verdict, offsets)
    assert output in found.message


def test_a_slow_group_loses_nothing_if_no_record_was_removed(looks: Looks) -> None:
    assert [one.verdict for one in lag(looks, "lag.whole")] == [PASS]
    assert set(LAG) <= {topic.name for topic in looks.broken.topics}
