"""Pulumi's state is looked at while somebody writes it: what is said then, and that it is only said if it stays so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from tests.engine.predictions.conftest import Deployment, deployment
from topicwarden.deploy import partial_state
from topicwarden.model.problem import Refusal
from topicwarden.sandbox.local_cluster import Sandbox

_PROGRAM = """
from pathlib import Path
from threading import Timer

from topicwarden.deploy.program import deploy

attributes = Path({attributes!r})
text = attributes.read_text()
attributes.write_text("")
Timer(1.0, attributes.write_text, [text]).start()
deploy()
"""


@pytest.fixture
def door(sandbox: Sandbox, tmp_path: Path) -> Deployment:
    """One topic, which is not deployed."""
    door = deployment(tmp_path / "door", {})
    door.write({"door/door.v1.yaml": "{owner: team, partitions: 2, replication_factor: 2}\n"})
    return door


def attributes(door: Deployment) -> Path:
    """What Pulumi writes beside the state, in place."""
    (found,) = (door.project.root / "state").rglob("dev.json.attrs")
    return found


@contextmanager
def emptied(file: Path, seconds: float) -> Iterator[None]:
    """As the file is found while it is written, which here takes ``seconds``."""
    text = file.read_text()
    file.write_text("")
    written = Timer(seconds, file.write_text, [text])
    written.start()
    try:
        yield
    finally:
        written.join()


def test_a_program_reads_again(door: Deployment) -> None:
    (door.project.root / "stacks" / "__main__.py").write_text(_PROGRAM.format(attributes=str(attributes(door))))
    assert "door.v1" in door.pulumi("preview")


def test_a_plan_reads_again(door: Deployment) -> None:
    with emptied(attributes(door), seconds=2.0):
        assert [plan.topic for plan in door.plan().topics] == ["door.v1"]


def test_what_stays_half_written_is_refused(door: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_state, "_TIMEOUT_S", 0.0)
    attributes(door).write_text("")
    with pytest.raises(Refusal, match=r"Pulumi's state stays incomplete: .*EOF; look at the files"):
        door.plan()
