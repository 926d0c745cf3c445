"""Test that one place makes all clients of Kafka, and that none of them creates topics."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from topicwarden.kafka.connect import clients
from topicwarden.kafka.connect.connection import Connection

PACKAGE = Path(clients.__file__).parents[2]
READER = PACKAGE.parent / "spark-reader" / "src" / "main"
CONNECTION = Connection(("a:9092",), tls=False)


def constructions(names: set[str]) -> set[tuple[str, str]]:
    """Return the modules of the package that call one of ``names``, with the name."""
    return {
        (path.relative_to(PACKAGE).as_posix(), node.func.id)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    }


def test_one_module_makes_all_clients() -> None:
    names = {"KafkaAdminClient", "KafkaConsumer", "KafkaProducer"}
    assert constructions(names) == {("kafka/connect/clients.py", name) for name in names}


def test_the_consumer_of_the_scan_has_the_settings_of_the_connection() -> None:
    assert CONNECTION.for_java()["allow.auto.create.topics"] == "false"
    created = [path.name for path in READER.rglob("*.java") if "new KafkaConsumer" in path.read_text(encoding="utf-8")]
    assert created == ["RangeReader.java"]


@pytest.mark.parametrize("client", ["consumer", "producer"])
def test_clients_of_records_create_no_topics(client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[dict[str, object]] = []
    monkeypatch.setattr(clients, f"Kafka{client.capitalize()}", lambda **settings: found.append(settings))
    getattr(clients, f"new_{client}")(CONNECTION, linger_ms=5)
    assert (found[0]["allow_auto_create_topics"], found[0]["linger_ms"]) == (False, 5)
