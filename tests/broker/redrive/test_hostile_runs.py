"""Test redrives of topics that were created again, of functions that end the process, and of reset progress."""

from __future__ import annotations

import time

import pytest
from kafka import OffsetAndMetadata, TopicPartition
from kafka.admin import NewTopic

from tests.support.redrives import RedriveProject, origin
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.problem import Refusal

JSON = "partitions: 3, contents: {value: {format: json}}"
PLAIN = "partitions: 3"
WRONG = [(0, b"a", b"{secret"), (1, b"b", b"{secret"), (0, b"c", b"{secret")]


def test_a_topic_that_was_created_again_is_refused_and_nothing_is_copied(redrives: RedriveProject) -> None:
    topic = redrives.declare(JSON, repaired=PLAIN)
    redrives.write(topic, WRONG)
    found = redrives.finding(topic, "value-schema")
    with connected(redrives.servers) as admin:
        admin.delete_topics([topic])
        deadline = time.monotonic() + 60
        while topic in admin.list_topics():
            assert time.monotonic() < deadline
        admin.create_topics([NewTopic(topic, 3, redrives.brokers)])
    redrives.write(topic, WRONG)
    with pytest.raises(Refusal, match=f"{topic} was created again after the audit"):
        redrives.redrive(found, f"{topic}.repaired")
    assert redrives.copies(f"{topic}.repaired") == []


def test_a_function_that_ends_the_process_shows_no_record_and_commits_nothing(redrives: RedriveProject) -> None:
    topic = redrives.declare(JSON, repaired=PLAIN)
    redrives.write(topic, WRONG)
    (redrives.project.root / "ending.py").write_text(
        "calls = []\ndef fix(key, value, headers):\n"
        "    calls.append(1)\n"
        "    if len(calls) > 4:\n        raise SystemExit(value)\n"
        "    return key, value, headers\n",
        encoding="utf-8",
    )
    found = redrives.finding(topic, "value-schema")
    with pytest.raises(Refusal, match="ending:fix failed with SystemExit") as refused:  # the rehearsal passes
        redrives.redrive(found, f"{topic}.repaired", function="ending:fix")
    assert "secret" not in str(refused.value)
    assert redrives.copies(f"{topic}.repaired") == []


def test_progress_that_was_reset_by_hand_copies_nothing_twice(redrives: RedriveProject) -> None:
    topic = redrives.declare(JSON, repaired=PLAIN)
    redrives.write(topic, WRONG)
    found = redrives.finding(topic, "value-schema")
    name = redrives.redrive(found, f"{topic}.repaired").name
    copies = [origin(copy) for copy in redrives.copies(f"{topic}.repaired")]
    with connected(redrives.servers) as admin:  # as `kafka-consumer-groups --reset-offsets --to-earliest` does
        admin.alter_group_offsets(
            name, {TopicPartition(topic, part): OffsetAndMetadata(0, "", -1) for part in range(3)}
        )
    with pytest.raises(Refusal, match="other programs have committed offsets"):
        redrives.redrive(found, f"{topic}.repaired")
    assert [origin(copy) for copy in redrives.copies(f"{topic}.repaired")] == copies
