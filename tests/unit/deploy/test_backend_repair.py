"""Test that only the emptied attributes of a dead process are removed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from topicwarden.deploy.backend_repair import remove_empty_attributes
from topicwarden.model.project import Project


@pytest.mark.parametrize(
    ("content", "age_s", "backend", "removed"),
    [
        (b"", 60, "file://{}", True),
        (b"{}", 60, "file://{}", False),
        (b"", 0, "file://{}", False),  # a live process may be about to fill it
        (b"", 60, "s3://bucket", False),
    ],
)
def test_emptied_attributes_are_removed(
    tmp_path: Path, content: bytes, age_s: int, backend: str, removed: bool
) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: shop\n")
    states = tmp_path / "state" / ".pulumi" / "stacks" / "shop"
    states.mkdir(parents=True)
    attributes, state = states / "dev.json.attrs", states / "dev.json"
    attributes.write_bytes(content)
    state.write_bytes(b"{}")
    os.utime(attributes, (time.time() - age_s,) * 2)
    found = remove_empty_attributes(Project(tmp_path), "dev", backend.format(tmp_path / "state"))
    assert (found == attributes, attributes.exists(), state.exists()) == (removed, not removed, True)
