"""Infer the contract of a declared topic on a real broker, and show what its records break."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.support.clients import until
from tests.support.projects import own_cache, project_of
from topicwarden.cli.infer import infer
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.project import Project

TOPIC = "inferred.orders"
RECORDS = 1_100
MARK = "zqxv"
DECLARED = (
    "{owner: team, partitions: 1, replication_factor: 1, contents: {value: {format: json, schema: order.json}, "
    "headers: {required: [trace-id]}}}\n"
)
SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


@pytest.fixture
def project(servers: list[str], tmp_path: Path) -> Iterator[Project]:
    settings = f"config: {{'kafka:bootstrapServers': [{', '.join(servers)}], 'kafka:tlsEnabled': false}}\n"
    with connected(servers) as admin:
        admin.create_topics([NewTopic(TOPIC, 1, 1)])
    producers = [Producer({"bootstrap.servers": ",".join(servers), "enable.idempotence": True}) for _ in range(2)]
    for number in range(RECORDS):
        value = {"id": number, "state": MARK, "note": f"{MARK}{number}"}
        if number in (7, 900):
            value["id"] = MARK
        headers: list[tuple[str, str | bytes | None]] = [] if number == 50 else [("trace-id", MARK.encode())]
        producers[number % 2].produce(TOPIC, json.dumps(value).encode(), f"{MARK}{number}", headers=headers)
        producers[number % 2].flush()  # so that the offsets are the numbers
    with own_cache(tmp_path):
        yield project_of(tmp_path / "project", {f"{TOPIC}.yaml": DECLARED, "order.json": json.dumps(SCHEMA)}, settings)
    with connected(servers) as admin:
        admin.delete_topics([TOPIC])
        until(lambda: TOPIC not in admin.list_topics(), "the topic is gone")


def test_a_declared_topic_shows_what_records_break_and_allow(
    project: Project,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(project.root)
    before = {path: path.read_bytes() for path in project.topics.rglob("*") if path.is_file()}
    assert infer([TOPIC], out=tmp_path / "out") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"# {TOPIC}: inferred from all 1,100 records"
    broken, added = ([line for line in lines if line.startswith(sign)] for sign in "-+")
    assert len(broken) == 2
    assert broken[0].startswith("- header: missing trace-id in 1 of 1,100, first at 0:50")
    assert "in 2 of 1,100, first at 0:7 " in broken[1]
    assert "+ key.required: true  # all 1,100 records have a key" in added
    assert "+ value.schema /: required: [note, state]  # 1,100 values" in added
    assert any(line.startswith("+ value.schema /note: type: string") for line in added)
    assert {path: path.read_bytes() for path in project.topics.rglob("*") if path.is_file()} == before
    written = "".join(path.read_text("utf-8") for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert MARK not in "\n".join(lines) + written
    schema = json.loads((tmp_path / "out" / "schemas" / f"{TOPIC}-value.json").read_text("utf-8"))
    assert schema["properties"]["id"]["$comment"] == "1,100 values; string: 2 of 1,100, first at 0:7"


def test_a_bound_on_the_records_makes_rules_suggestions(
    project: Project, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.root)
    assert infer([TOPIC], "dev", max_records=100, min_records=1) == 0
    first, *others = capsys.readouterr().out.splitlines()
    assert first == f"# {TOPIC}: inferred from 100 records, the newest 100 of 1,100 offsets"
    doubt = "rests on the newest records only; all 100 records have a key"
    assert f"# key.required: true  # {doubt}" in others
    assert not [line for line in others if not line.startswith("# ")]
