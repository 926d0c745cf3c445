"""The Spark reader: its own build, and what only its shaded jar can show."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.spark.codecs.judge import compiled
from topicwarden.kafka.connection import Connection
from topicwarden.toolchain.spark_reader import MODULE


def test_the_spark_reader_passes_its_checks_and_unit_tests() -> None:
    done = subprocess.run(["mvn", "-B", "-q", "test"], cwd=MODULE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_login_modules_are_found_though_kafka_is_relocated(java: Path, tmp_path: Path, mechanism: str) -> None:
    connection = Connection(("localhost:1",), tls=False, sasl_mechanism=mechanism, username="user", password="secret")
    options = [f"kafka.{name}={value}" for name, value in connection.for_java().items()]
    command = [*compiled(java, tmp_path, "Login"), "io.topicwarden.reader.source.Login", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["created"], done.stderr[-3000:]
