"""Test that only broken files of a dead process are removed from a file backend."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from topicwarden.deploy.backend_repair import remove_broken_files
from topicwarden.model.project import Project

_STATE = "stacks/shop/dev.json"
_LOCK = "locks/organization/shop/dev/23deca42-c2e9-4131-9230-e6ad39b34693.json"


_UNFINISHED = f"{_LOCK}.18ea97863ca7934c.tmp"


def _write(folder: Path, file: str, content: bytes, age_s: int) -> Path:
    """Write a file of the backend in ``folder``, last changed ``age_s`` seconds ago, beside a complete state."""
    (folder / "Pulumi.yaml").write_text("name: shop\n")
    for name, text in ((_STATE, b"{}"), (file, content)):
        path = folder / "state" / ".pulumi" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    os.utime(path, (time.time() - age_s,) * 2)
    return path


@pytest.mark.parametrize(
    ("file", "content"), [(f"{_STATE}.attrs", b""), (_UNFINISHED, b""), (_UNFINISHED, b'{"pid": 1')]
)
def test_corrupt_files_are_removed(tmp_path: Path, file: str, content: bytes) -> None:
    broken = _write(tmp_path, file, content, 60)
    assert remove_broken_files(Project(tmp_path), "dev", (tmp_path / "state").as_uri()) == [broken]
    assert not broken.exists()
    assert (tmp_path / "state" / ".pulumi" / _STATE).exists()


@pytest.mark.parametrize(
    ("file", "content", "age_s"),
    [
        (f"{_STATE}.attrs", b"{}", 60),
        (f"{_STATE}.attrs", b"", 0),  # a live process may be about to fill it
        (_UNFINISHED, b"", 0),
        (_UNFINISHED.replace("dev", "prod"), b"", 60),
        (_LOCK, b"{}", 60),
    ],
)
def test_complete_files_and_files_in_use_are_kept(tmp_path: Path, file: str, content: bytes, age_s: int) -> None:
    kept = _write(tmp_path, file, content, age_s)
    assert remove_broken_files(Project(tmp_path), "dev", (tmp_path / "state").as_uri()) == []
    assert remove_broken_files(Project(tmp_path), "prod", "s3://bucket") == []
    assert kept.exists()
