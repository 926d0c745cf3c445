"""Test that unrealistically large files are rejected before they use much time or memory."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import COMMAND, process, project, topicwarden

MIB = 1 << 20


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path, {"topics/b.yaml": "partitions: 1\nreplication_factor: 1\n"})


def test_a_line_of_a_million_characters_is_refused(root: Path) -> None:
    (root / "topics/a.yaml").write_text("owner: x\ndescription: " + "a" * 1_000_000 + "\n")
    done = topicwarden("check", cwd=root)
    assert done.code == 1
    location, source, caret = done.out.splitlines()
    assert location.startswith("topics/a.yaml:2:500001: expected lines of at most 500,000 characters")
    assert location.endswith("[yaml-line]")
    assert len(source) < 200
    assert len(caret) < 200


def test_a_hundred_megabytes_are_refused_without_being_read(root: Path) -> None:
    for room in ("topics", "policies"):
        (root / room).mkdir(exist_ok=True)
        with (root / room / "a.yaml").open("wb") as stream:
            stream.truncate(100 * MIB)
    # The process may use less memory than the size of the files.
    limited = (
        "import os, resource, sys; limit = int(sys.argv[1]); "
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit)); os.execv(sys.argv[2], sys.argv[2:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, str(_needed(root) + 60 * MIB), str(COMMAND), "check", "topics", "policies"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("[file-size]") == 2


def _needed(root: Path) -> int:
    """Return the address space, in bytes, of a process that has run the imports of a check."""
    code = (
        "import topicwarden.cli.check, re; print(re.search(r'VmPeak:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    return int(done.stdout) * 1024


def test_exploding_aliases_are_refused(root: Path) -> None:
    levels = "".join(f"l{n + 1}: &l{n + 1} [{', '.join([f'*l{n}'] * 9)}]\n" for n in range(9))
    (root / "topics/a.yaml").write_text(f"l0: &l0 [lol]\n{levels}")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    done = process("check", cwd=root)
    assert done.out.count("[yaml-alias]") == 1
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - before < 100 * 1024


def test_names_that_differ_only_in_case_are_a_warning(root: Path) -> None:
    topic = "partitions: 1\nreplication_factor: 1\n"
    (root / "topics/b.yaml").write_text(f"topic: Shop.Orders\n{topic}---\ntopic: shop_orders\n{topic}")
    done = topicwarden("check", cwd=root)
    assert done.code == 0
    first = done.out.splitlines()[0]
    assert first == (
        "topics/b.yaml:5:8: warning: shop_orders and Shop.Orders (topics/b.yaml:1:8) differ only in upper and "
        "lower case; rename one [topic-case]"
    )
