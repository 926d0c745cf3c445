"""Test the address of a stack's history: a path on this machine is not encoded, as Hadoop reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from topicwarden.model.project import Project
from topicwarden.specs.stacks.history_address import history_address
from topicwarden.usage.history_files import HistoryParts, LocalFiles, local_path
from topicwarden.usage.use_history import UseHistory
from topicwarden.usage.use_records import UseRecords


@pytest.mark.parametrize("name", ["plain", "My Proj", "jürgen", "50%20", "a[1]#?"])
def test_the_history_is_in_the_folder_that_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    project = Project(tmp_path / name)
    for setting, option, folder in (
        (None, None, project.cache / "history" / "dev"),
        ("use of topics", None, project.root / "use of topics"),
        (None, f"{name}/option", tmp_path / name / "option"),
    ):
        address = history_address(project, "dev", setting, option)
        assert address == f"file://{folder}"
        UseHistory(address).save(UseRecords("c", 1))
        assert list(folder.glob("v4/use/*/_complete"))
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("address", ["file:///srv/a%20b", "file:///srv/a b", "s3a://bucket/a%20b"])
def test_an_address_stays_as_it_is(address: str, tmp_path: Path) -> None:
    assert history_address(Project(tmp_path), "dev", address) == address


def test_a_history_in_the_folder_with_the_encoded_name_is_still_found(tmp_path: Path) -> None:
    folder, encoded = tmp_path / "My Proj", tmp_path / "My%20Proj"
    UseHistory(f"file://{encoded}").save(UseRecords("c", 1))
    folder.mkdir()
    address = history_address(Project(tmp_path), "dev", "My Proj")
    assert address == f"file://{encoded}"
    assert local_path(address) == encoded
    assert HistoryParts(str(folder), LocalFiles()).parts("use")
    UseHistory(f"file://{folder}").save(UseRecords("c", 2))
    assert history_address(Project(tmp_path), "dev", "My Proj") == f"file://{folder}"
