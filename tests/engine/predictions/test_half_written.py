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
def deployed(sandbox: Sandbox, tmp_path: Path) -> Deployment:
    """A declared topic that is not deployed."""
    deployed = deployment(tmp_path / "door", {})
    deployed.write({"door/door.v1.yaml": "{owner: team, partitions: 2, replication_factor: 2}\n"})
    return deployed


def attributes(deployed: Deployment) -> Path:
    """Return the attributes file beside the state. Pulumi overwrites this file in place."""
    (found,) = (deployed.project.root / "state").rglob("dev.json.attrs")
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


def test_a_program_retries_a_half_written_state(deployed: Deployment) -> None:
    (deployed.project.root / "stacks" / "__main__.py").write_text(_PROGRAM.format(attributes=str(attributes(deployed))))
    assert "door.v1" in deployed.pulumi("preview")


def test_a_plan_retries_a_half_written_state(deployed: Deployment) -> None:
    with emptied(attributes(deployed), seconds=2.0):
        assert [plan.topic for plan in deployed.plan().topics] == ["door.v1"]


def test_a_state_that_stays_half_written_is_refused(deployed: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_state, "_TIMEOUT_S", 0.0)
    attributes(deployed).write_text("")
    with pytest.raises(Refusal, match=r"Pulumi's state stays incomplete: .*EOF; restore it from an older version"):
        deployed.plan()


def test_a_state_truncated_by_a_full_disk_is_refused(deployed: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_state, "_TIMEOUT_S", 0.0)
    state = attributes(deployed).with_suffix("")
    state.write_text(state.read_text()[:100])
    with pytest.raises(Refusal, match=r"Pulumi's state stays incomplete: .*end of JSON input; restore it from"):
        deployed.plan()
