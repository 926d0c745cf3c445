"""However the keys of a partition are brought together, they are the same keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import NewTopic

from tests.cluster.findings import facts
from tests.cluster.projects import Shell
from topicwarden.audit import ranges
from topicwarden.cli.audit import Options, auditing
from topicwarden.finding import TopicFacts
from topicwarden.project import Project
from topicwarden.sandbox.stories.admin import connected
from topicwarden.sandbox.stories.writer import writing

TOPIC, KEYS = "k.keys", 120_000
LITTLE = {
    "spark.testing.memory": "24000000",  # what Spark takes for its memory, whatever the heap
    "spark.testing.reservedMemory": "0",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}


@pytest.fixture(scope="module")
def whole(project: Project, servers: list[str]) -> Iterator[TopicFacts]:
    """What an audit tells of a topic of which one task reads each partition, and holds its keys."""
    with connected(servers) as admin:
        admin.create_topics([NewTopic(TOPIC, 2, 1, topic_configs={"cleanup.policy": "compact"})])
    with writing(servers) as writer:
        for number in range(2 * KEYS):
            writer.send(TOPIC, f"key-{number % KEYS:06}", None if number % 11 == 0 else "x" * (number % 13))
    yield audited(project)
    with connected(servers) as admin:
        admin.delete_topics([TOPIC])


def audited(project: Project) -> TopicFacts:
    with auditing(project, "dev", options=Options("none")) as look:
        return facts(look((TOPIC,)), TOPIC)


def plain(told: TopicFacts) -> dict[str, Any]:
    """Without which of the keys that all have two records is called the hottest."""
    held = told.model_dump(mode="json")
    for partition in held["partitions"]:
        partition.pop("hottest_offset", None)
    return held


def test_every_key_is_counted_once(whole: TopicFacts) -> None:
    assert sum(one.keys or 0 for one in whole.partitions) == KEYS
    assert sum(one.superseded or 0 for one in whole.partitions) == KEYS


def test_a_partition_that_several_tasks_read_has_the_same_keys(
    project: Project, whole: TopicFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "MOST_OFFSETS", 10_000)
    monkeypatch.setattr(ranges, "_FAIR", 0.3)
    assert plain(audited(project)) == plain(whole)


def test_keys_that_do_not_fit_into_memory_are_spilled_and_met_again(
    project: Project, whole: TopicFacts, tmp_path: Path
) -> None:
    settings = " ".join(f"--conf {name}={value}" for name, value in (LITTLE | {"spark.eventLog.dir": tmp_path}).items())
    shell = Shell(project.root, {"PYSPARK_SUBMIT_ARGS": f"{settings} pyspark-shell"})
    done = shell.topicwarden("audit", "--topics", TOPIC, "--stack", "dev", "--history", "none", "--format", "json")
    assert done.stderr == ""
    (told,) = json.loads(done.stdout)["topics"]
    assert plain(TopicFacts.model_validate(told)) == plain(whole)
    assert spilled(tmp_path) > 0


def spilled(events: Path) -> int:
    """The bytes that tasks spilled from memory, by Spark's own account."""
    (log,) = (path for path in events.iterdir() if path.is_file() and not path.name.startswith("."))
    told = map(json.loads, log.read_text().splitlines())
    return sum(one["Task Metrics"]["Memory Bytes Spilled"] for one in told if one["Event"] == "SparkListenerTaskEnd")
