"""The Spark reader: its own build, what only its shaded jar can show, and the hash of keys."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.conftest import JAVA_OPTIONS
from tests.spark.codecs.judge import program
from topicwarden.audit.scan import reader_jars
from topicwarden.audit.scan.key_hash import key_hash
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.toolchain import spark_reader
from topicwarden.toolchain.spark_reader import MODULE


def test_the_spark_reader_passes_its_checks_and_unit_tests() -> None:
    # The variable adds a line to the output of each JVM: Maven and its unit tests get the same options otherwise.
    variables = {name: value for name, value in os.environ.items() if name != JAVA_OPTIONS}
    options = variables["MAVEN_OPTS"] = os.environ[JAVA_OPTIONS]
    command = ["mvn", "-B", "-q", f"-DargLine={options}", "test"]
    done = subprocess.run(command, cwd=MODULE, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:]


@pytest.mark.nightly("One mechanism of SASL stays.", stays=("PLAIN",))
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_login_modules_are_found_in_relocated_kafka_classes(java: Path, mechanism: str) -> None:
    connection = Connection(("localhost:1",), tls=False, sasl_mechanism=mechanism, username="user", password="secret")
    options = [f"kafka.{name}={value}" for name, value in connection.for_java().items()]
    command = [*program(java, "Login"), "io.topicwarden.reader.source.Login", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["created"], done.stderr[-3000:]


def test_the_jar_of_the_wheel_comes_before_the_built_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.__version__", "4.1.7")
    packaged = tmp_path / "wheel" / "spark-reader.jar"
    monkeypatch.setattr(spark_reader, "PACKAGED", packaged)
    monkeypatch.setenv("TOPICWARDEN_CACHE", str(tmp_path / "cache"))
    project = Project(tmp_path)
    built = spark_reader.jar(project)
    for jar in (built, packaged):
        jar.parent.mkdir(parents=True)
        jar.touch()
    assert reader_jars.jars(project) == [packaged]
    packaged.unlink()
    assert reader_jars.jars(project) == [built]


@pytest.mark.parametrize(
    ("version", "module", "message"),
    [
        ("3.5.1", MODULE, "the audit supports Spark 4.0, 4.1, 4.2, found pyspark 3.5.1; run `pip install"),
        ("4.0.1", MODULE, "the Spark reader is not built; run `python3 -m tools.set_up all`"),
        ("4.0.1", Path("nowhere"), "this installation of topicwarden has no Spark reader"),
    ],
)
def test_a_missing_jar_is_reported_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, module: Path, message: str
) -> None:
    monkeypatch.setattr("pyspark.__version__", version)
    monkeypatch.setattr(spark_reader, "MODULE", module)
    monkeypatch.setenv("TOPICWARDEN_CACHE", str(tmp_path))
    with pytest.raises(Refusal) as refusal:
        reader_jars.jars(Project(tmp_path))
    assert message in str(refusal.value)


def test_keys_of_every_length_have_the_hash_of_spark(spark: SparkSession) -> None:
    draw = random.Random(1)
    keys = [draw.randbytes(length) for length in (*range(130), 1_000, 4_099)]
    rows = spark.createDataFrame([(key,) for key in keys], "key binary").select("key", F.xxhash64("key")).collect()
    assert {bytes(key): key_hash(bytes(key)) for key, _ in rows} == {bytes(key): expected for key, expected in rows}
    assert len(rows) == len(keys)
