"""Test which jars a process of the reader gets, and what it says without them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.support.projects import project_of
from topicwarden.audit.scan import reader_process
from topicwarden.audit.scan.contracts import NO_CONTRACTS
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.range_totals import RangeTotals
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.missing_extra import MissingExtra
from topicwarden.model.problem import Refusal
from topicwarden.toolchain import spark_reader

RANGES = [OffsetRange(0, "t", 0, 0, 1)]


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    jar = tmp_path / "reader.jar"
    jar.touch()
    monkeypatch.setattr(spark_reader, "PACKAGED", jar)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    return jar


def read(tmp_path: Path) -> list[RangeTotals]:
    connection = Connection(("127.0.0.1:1",), tls=False)
    return reader_process.read_totals(project_of(tmp_path / "project", {}), connection, RANGES, NO_CONTRACTS, "{}")


def test_the_process_has_the_reader_before_the_jars_of_pyspark(reader: Path, tmp_path: Path) -> None:
    found, jars = reader_process._class_path(project_of(tmp_path / "project", {}))
    spec = importlib.util.find_spec("pyspark")
    assert spec and spec.origin
    assert found == str(reader)
    assert jars == str(Path(spec.origin).parent / "jars" / "*")


def test_the_jars_of_spark_home_come_before_those_of_pyspark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    _, jars = reader_process._class_path(project_of(tmp_path / "project", {}))
    assert jars == str(tmp_path / "spark" / "jars" / "*")


def test_without_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reader_process, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'topicwarden\[audit\]'"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo 'failed no topic'; exit 1", "the scan failed: no topic"),
        ("echo 'Error: heap' >&2; exit 3", "the scan ended with exit code 3: Error: heap"),
    ],
)
def test_a_process_that_fails_says_why(
    script: str, expected: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    java.chmod(0o755)
    monkeypatch.setattr(reader_process, "require_java", lambda: java)
    with pytest.raises(Refusal) as refusal:
        read(tmp_path)
    assert str(refusal.value) == expected


def test_the_options_are_in_a_file_that_only_this_user_reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    java = tmp_path / "java"
    java.write_text(
        f'#!/bin/sh\nfor last; do :; done\nstat -c %a "$(dirname "$last")" > {seen}\necho "$@" >> {seen}\n'
        'echo \'totals {"part": 0, "bands": [], "notes": []}\'\n',
        encoding="utf-8",
    )
    java.chmod(0o755)
    monkeypatch.setattr(reader_process, "require_java", lambda: java)
    (totals,) = read(tmp_path)
    assert totals.part == 0
    mode, arguments = seen.read_text(encoding="utf-8").splitlines()
    assert mode == "700"
    assert "127.0.0.1:1" not in arguments
