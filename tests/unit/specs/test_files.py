"""Test files that no repository should contain, so the tests create them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.specs.lines import problem_lines, setting_lines
from topicwarden.model.files import MAX_BYTES

OK = b"partitions: 3\nreplication_factor: 3\n"


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    (tmp_path / "topics").mkdir()
    return tmp_path / "topics"


def test_a_huge_file_is_not_read(topics: Path) -> None:
    (topics / "a.yaml").write_bytes(b"#" * MAX_BYTES + b"\n")
    assert problem_lines(topics.parent) == [
        "topics/a.yaml:1:1: expected a file of at most 1048576 bytes, got 1048577; split it [file-size]"
    ]


@pytest.mark.parametrize("opening", [b"[", b"{a: ", b"- ", b"? "])
def test_100_000_nested_levels_do_not_crash_the_process(topics: Path, opening: bytes) -> None:
    (topics / "a.yaml").write_bytes(opening * 100_000)
    (line,) = problem_lines(topics.parent)
    assert line.startswith("topics/a.yaml:1:")
    assert "nested too deep" in line


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(topics: Path) -> None:
    (topics / "a.yaml").write_bytes(b"\xef\xbb\xbf" + OK.replace(b"\n", b"\r\n") + b"owner: x\r\n")
    assert problem_lines(topics.parent) == []
    assert "dev a owner = 'x' at topics/a.yaml:3:8" in list(setting_lines(topics.parent))


def test_a_location_after_a_byte_order_mark_is_not_shifted(topics: Path) -> None:
    (topics / "a.yaml").write_bytes(b"\xef\xbb\xbfownr: x\r\n" + OK)
    assert problem_lines(topics.parent) == ['topics/a.yaml:1:1: unknown key "ownr"; did you mean owner? [unknown-key]']


def test_a_pipe_does_not_block_the_command(topics: Path) -> None:
    os.mkfifo(topics / "a.yaml")
    assert [line.split("; ")[0] for line in problem_lines(topics.parent)] == [
        "topics/a.yaml:1:1: expected a regular file, got a device, pipe or socket"
    ]


def test_a_strange_file_name_stays_on_one_line(topics: Path) -> None:
    (topics / "a\nb.yaml").write_bytes(OK)
    (topics / os.fsdecode(b"\xff.yaml")).write_bytes(OK)
    lines = problem_lines(topics.parent)
    assert [line.encode("utf-8").split(b":")[0] for line in lines] == [rb"topics/\udcff.yaml", rb"topics/a\nb.yaml"]
    assert all("\n" not in line for line in lines)


def test_10_000_aliases_are_accepted_and_more_are_refused(topics: Path) -> None:
    text = b"x: &x [" + b"a, " * 1000 + b"a]\ny: [" + b"*x, " * 100_000 + b"*x]\n"
    (topics / "a.yaml").write_bytes(text)
    assert sum("[yaml-alias]" in line for line in problem_lines(topics.parent)) == 1
