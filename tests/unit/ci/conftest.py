"""The project of the tests of CI."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with two stacks. The stack ``dev`` uses a sandbox."""
    folder = tmp_path / "my project"
    files = {
        "Pulumi.yaml": "name: p\nruntime: python\n",
        "topics/orders.yaml": "{partitions: 3, replication_factor: 3}\n",
        "stacks/Pulumi.dev.yaml": "config: {'topicwarden:cluster': sandbox}\n",
        "stacks/Pulumi.prod.yaml": "config: {'kafka:bootstrapServers': ['127.0.0.1:9']}\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder
