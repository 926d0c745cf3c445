"""Symbolic links that lead to themselves, wherever a check follows one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.command import project, topicwarden

NOWHERE = "this symbolic link is broken; delete it or put the file here [file-link]"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path, {"topics/b.yaml": "partitions: 1\nreplication_factor: 1\n", "policies/p.yaml": ""})


@pytest.mark.parametrize("link", ["topics/a.yaml", "policies/a.yaml", "topics/_defaults.yaml"])
def test_a_file_that_links_to_itself_is_a_problem_of_its_own(root: Path, link: str) -> None:
    (root / link).symlink_to(Path(link).name)
    for arguments in ((), (link,), ("--fix",)):
        done = topicwarden("check", *arguments, cwd=root)
        assert (done.code, done.err.count("Traceback")) == (1, 0), done.err
        assert f"{link}:1:1: {NOWHERE}" in done.out


def test_links_in_a_circle_are_problems_of_their_own(root: Path) -> None:
    (root / "topics/x.yaml").symlink_to("y.yaml")
    (root / "topics/y.yaml").symlink_to("x.yaml")
    done = topicwarden("check", cwd=root)
    assert [line for line in done.out.splitlines() if "file-link" in line] == [
        f"topics/{name}.yaml:1:1: {NOWHERE}" for name in "xy"
    ]


def test_a_folder_that_links_to_itself_holds_nothing(root: Path) -> None:
    (root / "topics/shop").symlink_to("shop")
    assert topicwarden("check", cwd=root).code == 0
    done = topicwarden("check", "topics/shop/a.yaml", cwd=root)
    assert (done.code, done.err.count("\n")) == (2, 1), done.err


def test_a_schema_that_links_to_itself_cannot_be_read(root: Path) -> None:
    (root / "topics/b.yaml").write_text(
        "partitions: 1\nreplication_factor: 1\ncontents: {value: {format: json, schema: loop.json}}\n"
    )
    (root / "topics/loop.json").symlink_to("loop.json")
    done = topicwarden("check", cwd=root)
    assert done.code == 1
    assert f"topics/b.yaml:3:42: topics/loop.json cannot be read: {os.strerror(40)}" in done.out


def test_stack_settings_that_link_to_themselves_cannot_be_read(root: Path) -> None:
    (root / "stacks/Pulumi.prod.yaml").symlink_to("Pulumi.prod.yaml")
    done = topicwarden("check", cwd=root)
    assert done.code == 1
    assert f"stacks/Pulumi.prod.yaml:1:1: cannot be read: {os.strerror(40)} [file-unreadable]" in done.out
