"""Test the check of some files: it reads the files that they inherit from, and no others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.command import project, topicwarden
from topicwarden.model.problem import Problem
from topicwarden.specs import spec_files
from topicwarden.specs.spec_files import SpecFile

FULL = "owner: x\npartitions: 1\nreplication_factor: 1\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {
        "policies/rules.yaml": "rules:\n  partitions: {max: 60}\n  ownr: {}\n",
        "policies/more.yaml": "rules:\n  partitions: {max: 60}\n",
        "topics/_defaults.yaml": "replication_factor: 1\n",
        "topics/a/_defaults.yaml": "partitions: 100\n",
        "topics/a/one.yaml": "owner: x\n",
        "topics/a/two.yaml": "ownr: x\n",
        "topics/b/three.yaml": f"topic: one\n{FULL}",
        "topics/b/four.yaml": "partitions: x\n",
    }
    (tmp_path / "p").mkdir()
    return project(tmp_path / "p", files)


def _locations(root: Path, *paths: str, cwd: Path | None = None) -> list[str]:
    done = topicwarden("check", *paths, cwd=cwd or root)
    assert done.code in (0, 1), done.err
    return [line.split(": ")[0] for line in done.out.splitlines() if line.startswith(("topics/", "policies/"))]


def test_a_selected_file_is_checked_with_its_defaults_and_others_are_not_reported(root: Path) -> None:
    (root / "policies/rules.yaml").unlink()
    assert _locations(root, "topics/a/one.yaml") == ["topics/a/_defaults.yaml:1:13"]
    assert _locations(root, "topics/a/two.yaml") == ["topics/a/two.yaml:1:1"]
    assert _locations(root, "topics/b/three.yaml") == []


def test_a_folder_and_its_defaults_are_one(root: Path) -> None:
    (root / "policies/rules.yaml").unlink()
    both = ["topics/a/_defaults.yaml:1:13", "topics/a/two.yaml:1:1"]
    assert _locations(root, "topics/a") == _locations(root, "topics/a/_defaults.yaml") == both
    assert _locations(root, "topics/a/_defaults.yaml", "topics/b/four.yaml") == [*both, "topics/b/four.yaml:1:13"]


def test_all_files_are_checked_from_the_roots_and_their_parents(root: Path) -> None:
    every = _locations(root)
    assert len(every) == 5
    assert _locations(root, ".") == _locations(root, "p", cwd=root.parent) == every
    assert _locations(root, "topics") == [location for location in every if location.startswith("topics/")]


def test_a_policy_file_shows_its_own_problems_and_mentions_others(root: Path) -> None:
    assert _locations(root, "policies/rules.yaml") == ["policies/rules.yaml:3:3"]
    done = topicwarden("check", "policies/more.yaml", cwd=root)
    assert (done.code, done.out) == (0, "")
    assert "more problems elsewhere; `topicwarden check` shows all" in done.err


def test_a_stack_file_shows_its_own_problems(root: Path) -> None:
    (root / "stacks" / "Pulumi.prod.yaml").write_text("config: [a]\n")
    for path in ("stacks", "stacks/Pulumi.prod.yaml"):
        done = topicwarden("check", path, cwd=root)
        assert done.code == 1
        assert done.out == "stacks/Pulumi.prod.yaml:1:9: config: expected a mapping, got a list [stack-setting]\n"
    assert topicwarden("check", "stacks/Pulumi.dev.yaml", cwd=root).code == 0


def test_a_file_of_a_project_elsewhere_is_found(root: Path, tmp_path: Path) -> None:
    assert _locations(root, "p/topics/a/two.yaml", cwd=tmp_path) == ["topics/a/two.yaml:1:1"]


@pytest.mark.parametrize(
    ("path", "output"),
    [
        ("topics/none.yaml", "there is no topics/none.yaml"),
        ("Pulumi.yaml", "not below topics/, access/, subjects/, policies/ or stacks/"),
    ],
)
def test_unverifiable_settings_are_refused(root: Path, path: str, output: str) -> None:
    done = topicwarden("check", path, cwd=root)
    assert (done.code, done.out) == (2, "")
    assert output in done.err


def test_a_link_out_of_the_tree_is_judged_as_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "out.yaml").write_text(FULL)
    (root / "topics/b/link.yaml").symlink_to(tmp_path / "out.yaml")
    done = topicwarden("check", "topics/b/link.yaml", cwd=root)
    assert (done.code, done.out.count("[file-link]")) == (1, 1)
    assert "owner" not in done.out


def test_a_project_without_a_stack_is_reported(root: Path) -> None:
    (root / "stacks/Pulumi.dev.yaml").unlink()
    done = topicwarden("check", cwd=root)
    assert done.code == 2
    assert "write stacks/Pulumi.<stack>.yaml" in done.err


def test_one_file_of_many_is_read_without_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = project(tmp_path, {"topics/_defaults.yaml": FULL}, ("dev", "test", "staging", "prod"))
    for folder in range(10):
        (root / f"topics/d{folder}").mkdir()
        for number in range(10):
            (root / f"topics/d{folder}/t{folder}.{number}.yaml").write_text("config: {retention.ms: 7d}\n")
    (root / "topics/d7/t7.7.yaml").write_text("config: {retenton.ms: 7d}\n")
    read: list[str] = []
    original = spec_files._read_file

    def counted(entry: os.DirEntry[str], spec: SpecFile) -> SpecFile | Problem:
        read.append(entry.name)
        return original(entry, spec)

    monkeypatch.setattr(spec_files, "_read_file", counted)
    assert _locations(root, "topics/d7/t7.7.yaml") == ["topics/d7/t7.7.yaml:1:10"]
    assert sorted(set(read)) == ["_defaults.yaml", "t7.7.yaml"]
