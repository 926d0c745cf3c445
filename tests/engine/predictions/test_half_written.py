"""Read Pulumi's state while another process writes the file.

Test the error message, and that the error is only reported if the file stays incomplete.
"""

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
    """A declared topic that is not deployed."""
    door = deployment(tmp_path / "door", {})
    door.write({"door/door.v1.yaml": "{owner: team, partitions: 2, replication_factor: 2}\n"})
    return door


def attributes(door: Deployment) -> Path:
    """Return the attributes file beside the state. Pulumi overwrites this file in place."""
    (found,) = (door.project.root / "state").rglob("dev.json.attrs")
    return found


@contextmanager
def emptied(file: Path, seconds: float) -> Iterator[None]:
    """Leave ``file`` empty for ``seconds``, as a reader finds the file during a write."""
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
    with pytest.raises(Refusal, match=r"Pulumi's state stays incomplete: .*EOF; restore it from an older version"):
        door.plan()


def test_a_state_that_a_full_disk_has_cut_off_is_refused(door: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_state, "_TIMEOUT_S", 0.0)
    state = attributes(door).with_suffix("")
    state.write_text(state.read_text()[:100])
    with pytest.raises(Refusal, match=r"Pulumi's state stays incomplete: .*end of JSON input; restore it from"):
        door.plan()
