"""Infer contracts that nobody declared from real records, and hold later records against them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.campaigns.inference.comparison import compare
from tests.campaigns.inference.drawn_topics import NEEDED, DrawnTopics, cluster, import_contents, unmet
from tests.support.conformance_data import suite
from tests.support.projects import own_cache
from topicwarden.kafka.connect.clients import connected
from topicwarden.toolchain import Toolchain

SEED, TOPICS = 44, 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_cache(tmp_path_factory.mktemp("inferred")) as folder:
        yield folder


@pytest.fixture
def servers(tools: Toolchain, folder: Path, tmp_path: Path) -> Iterator[Sequence[str]]:
    with cluster(tools, tmp_path) as servers:
        yield servers


def test_inferred_contracts_hold_for_later_records_and_show_no_value(
    servers: Sequence[str], spark: SparkSession, folder: Path
) -> None:
    comparison = compare(DrawnTopics.create(servers, "", SEED, TOPICS), folder)
    assert comparison.holds, comparison.table()
    assert not comparison.false, comparison.table()


@pytest.mark.nightly("The suite keeps drawn topics.")
def test_a_contract_of_any_json_holds_for_the_records_that_it_is_of(
    servers: Sequence[str], spark: SparkSession, folder: Path
) -> None:
    """Each topic has the data of a public suite, in which no two values need to be alike."""
    topics = {"inferred.parsing": parsed_texts()} | {
        f"inferred.{draft.name}": draft_values(draft) for draft in sorted(suite("json-schema").glob("tests/draft*"))
    }
    with connected(servers) as admin:
        admin.create_topics([NewTopic(topic, 2, 1) for topic in topics])
    producer = Producer({"bootstrap.servers": ",".join(servers)})
    for topic, values in topics.items():
        for value in islice(cycle(values), max(NEEDED, len(values))):
            producer.produce(topic, value)
            producer.poll(0)
    producer.flush()
    project = DrawnTopics(servers, "", {}, random.Random(SEED)).project(folder / "suites")
    import_contents(project, "--show-values")
    assert len(list(project.topics.rglob("*.json"))) == len(topics)
    assert unmet(project) == []


def parsed_texts() -> list[bytes]:
    """Return the texts that each parser of JSON must accept."""
    return [path.read_bytes() for path in sorted(suite("json-parsing").glob("test_parsing/y_*.json"))]


def draft_values(draft: Path) -> list[bytes]:
    """Return the values that a draft of JSON Schema is tested with."""
    groups: Iterable[dict[str, list[dict[str, object]]]] = (
        group for path in sorted(draft.glob("*.json")) for group in json.loads(path.read_text("utf-8"))
    )
    return [json.dumps(test["data"]).encode() for group in groups for test in group["tests"]]
