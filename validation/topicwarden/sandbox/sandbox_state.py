"""What the sandbox remembers between commands, and the lock that keeps two commands apart."""

from __future__ import annotations

import base64
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, ValidationError

from topicwarden.model.problem import Refusal

Say = Callable[[str], None]

FILE = "state.json"
HOST = "127.0.0.1"
_LOCK_WAIT_S = 180.0


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BrokerPorts(_Model):
    """A broker's id, and the ports of its listeners; brokers past the quorum have no controller."""

    id: int
    port: int
    controller_port: int | None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"


class SandboxState(_Model):
    """One cluster: its id, its brokers, and the settings that they were started with."""

    version: Literal[1] = 1
    cluster_id: str
    brokers: tuple[BrokerPorts, ...]
    heap: str
    overrides: dict[str, str]

    @property
    def addresses(self) -> list[str]:
        """The ``bootstrap.servers`` of the cluster."""
        return [place.address for place in self.brokers]

    def save(self, directory: Path) -> None:
        """Replaces the state file in one step, so that it is never half written."""
        directory.mkdir(parents=True, exist_ok=True)
        partial = directory / f"{FILE}.partial"
        partial.write_text(self.model_dump_json(indent=2), encoding="utf-8")
        partial.replace(directory / FILE)


def load(directory: Path) -> SandboxState | None:
    """The state of the sandbox in ``directory``; None where there is none. Refuses a file that is not one."""
    path = directory / FILE
    try:
        return SandboxState.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise Refusal(
            f"{path} is not the state of a sandbox: start afresh with `topicwarden sandbox down --remove`"
        ) from error


def new_cluster_id() -> str:
    """A random id in Kafka's spelling (``org.apache.kafka.common.Uuid``), which never starts with a dash."""
    while True:
        name = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not name.startswith("-"):
            return name


@contextmanager
def lock(directory: Path, say: Say) -> Iterator[None]:
    """Holds the sandbox in ``directory`` for one command; a second one says that it waits, then refuses.

    The file lies beside the directory, as ``down --remove`` deletes what is in it.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    with _held(directory.with_name(f".{directory.name}.lock"), f"another command is at work on {directory}", say):
        yield


@contextmanager
def port_lock(say: Say) -> Iterator[None]:
    """Held from the choice of ports until brokers listen on them: two sandboxes would choose the same ones."""
    name = f"topicwarden-sandbox-{os.getuid()}.lock"
    with _held(Path(tempfile.gettempdir()) / name, "another sandbox is starting on this machine", say):
        yield


@contextmanager
def _held(path: Path, busy: str, say: Say) -> Iterator[None]:
    # Without the fallback, the system releases the lock when the process is killed.
    file_lock = FileLock(path, mode=0o600, fallback_to_soft=False)
    try:
        file_lock.acquire(blocking=False)
    except Timeout:
        say(f"{busy}: waiting for it")
        try:
            file_lock.acquire(timeout=_LOCK_WAIT_S)
        except Timeout:
            raise Refusal(f"{busy}, still after {_LOCK_WAIT_S:.0f} s: wait for it, or end it, and try again") from None
    try:
        yield
    finally:
        file_lock.release()
