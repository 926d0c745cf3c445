"""Test that an audit never imports a topic's custom partitioner unless the stack lists the partitioner."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import DataFrame

from topicwarden.audit.scan.key_scan import TopicKeys, misplaced
from topicwarden.model.contents import Contents, KeyContents

NAME = "planted_partitioner:place"


@pytest.fixture
def marker(tmp_path: Path) -> Iterator[Path]:
    """Yield the path of a file that the module writes when it is imported."""
    path = tmp_path / "imported"
    (tmp_path / "planted_partitioner.py").write_text(
        f"open({str(path)!r}, 'w').close()\ndef place(key, partitions): return 0\n", encoding="utf-8"
    )
    yield path
    sys.modules.pop("planted_partitioner", None)


def _judged(tmp_path: Path, contents: Contents, *functions: str) -> str:
    # The audit decides whether to run the partitioner before it uses the DataFrame.
    keys = TopicKeys("a", 3, contents, {}, ())
    return misplaced(cast(DataFrame, None), keys, tmp_path, frozenset(functions))[1]


def test_a_function_that_is_not_listed_is_not_imported(tmp_path: Path, marker: Path) -> None:
    message = _judged(tmp_path, Contents(key=KeyContents(partition_function=NAME)), "planted_partitioner:other")
    assert "is not listed in topicwarden:partitionFunctions" in message
    assert not marker.exists()


def test_a_function_that_is_listed_is_imported(tmp_path: Path, marker: Path) -> None:
    assert "listed" not in _judged(tmp_path, Contents(key=KeyContents(partition_function=NAME)), NAME)
    assert marker.exists()


def test_an_expression_that_calls_java_is_not_run(tmp_path: Path) -> None:
    expression = "reflect('java.lang.System', 'getenv', 'HOME') % partitions"
    assert "must not call Java" in _judged(tmp_path, Contents(key=KeyContents(partition_expression=expression)))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("def place(:", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("import no_such_module", "ModuleNotFoundError"),
        ("1 / 0", "ZeroDivisionError"),
        ("assert False", "AssertionError"),
    ],
)
def test_a_module_that_cannot_be_imported_makes_only_its_topic_undecidable(
    tmp_path: Path, text: str, error: str
) -> None:
    (tmp_path / "broken_partitioner.py").write_text(f"{text}\n", encoding="utf-8")
    message = _judged(
        tmp_path, Contents(key=KeyContents(partition_function="broken_partitioner:place")), "broken_partitioner:place"
    )
    assert (
        message == f"the declared partitioner returned no result: the import of broken_partitioner failed with {error}"
    )
