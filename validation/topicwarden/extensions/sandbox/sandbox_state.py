"""The saved state of the sandbox, and the locks that let one command at a time change it."""

from __future__ import annotations

import base64
import json
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError

from topicwarden.model.field_types import StrictModel
from topicwarden.model.files import replace_file
from topicwarden.model.problem import Refusal
from topicwarden.model.sandbox_folder import STATE_FILE

Say = Callable[[str], None]

HOST = "127.0.0.1"
_LOCK_WAIT_S = 180.0


class BrokerPorts(StrictModel):
    """A broker's id, and the ports of its listeners. Only the first ``QUORUM`` brokers are controllers.

    ``user_port`` is the port of the listener for users with a password, which brokers with an authorizer have.
    """

    id: int
    port: int
    controller_port: int | None
    user_port: int | None = None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def numbers(self) -> list[int]:
        """The numbers of all ports."""
        return [number for number in (self.port, self.controller_port, self.user_port) if number is not None]


class SandboxState(StrictModel):
    """One cluster: the folder in which it was started, its id, its brokers, and the settings that they start with."""

    version: Literal[1] = 1
    directory: str
    cluster_id: str
    brokers: tuple[BrokerPorts, ...]
    heap: str
    overrides: dict[str, str]
    authorizer: bool = False

    @property
    def addresses(self) -> list[str]:
        """The ``bootstrap.servers`` of the cluster."""
        return [ports.address for ports in self.brokers]

    def save(self, directory: Path) -> None:
        """Replace the state file in ``directory``."""
        directory.mkdir(parents=True, exist_ok=True)
        replace_file(directory / STATE_FILE, self.model_dump_json(indent=2))


def load(directory: Path) -> SandboxState | None:
    """Return the state of the sandbox in ``directory``; None if there is no sandbox.

    Raises Refusal if the state file is invalid.
    """
    path = directory / STATE_FILE
    try:
        return SandboxState.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise Refusal(
            f"{path} is not a valid sandbox state: delete the sandbox with `topicwarden sandbox down --remove`, "
            "then start it again"
        ) from error


def new_uuid() -> str:
    """Return a random id of a cluster or of a broker's folder, in Kafka's format. It never starts with a dash.

    Source: ``org.apache.kafka.common.Uuid``.
    """
    while True:
        name = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not name.startswith("-"):
            return name


@contextmanager
def lock(directory: Path, say: Say) -> Iterator[None]:
    """Lock the sandbox in ``directory`` for one command.

    A second command reports to ``say`` that it waits, and raises Refusal after a timeout. The lock file is next to
    the directory, because ``down --remove`` deletes the directory's contents.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    with _locked(directory.with_name(f".{directory.name}.lock"), f"another command is using {directory}", say):
        yield


PORT_LOCK = f"topicwarden-sandbox-{os.getuid()}.lock"
SANDBOXES = f"topicwarden-sandboxes-{os.getuid()}.json"
"""This user's sandboxes on this machine: the paths of their folders."""


@contextmanager
def port_lock(say: Say) -> Iterator[None]:
    """Lock the ports of this machine until the brokers listen. Otherwise two sandboxes could select the same ports."""
    with _locked(Path(tempfile.gettempdir()) / PORT_LOCK, "another sandbox is starting on this machine", say):
        yield


def other_sandboxes(directory: Path) -> tuple[Path, ...]:
    """Return the folders of this user's other sandboxes, and remember that of ``directory``.

    Only for the holder of ``port_lock``. Folders without a sandbox are forgotten.
    """
    path = Path(tempfile.gettempdir()) / SANDBOXES
    known: list[Path] = []
    with suppress(OSError, ValidationError):
        if path.lstat().st_uid == os.getuid():
            known = TypeAdapter(list[Path]).validate_json(path.read_bytes())
    others = tuple(sorted({folder for folder in known if folder != directory and (folder / STATE_FILE).is_file()}))
    with suppress(OSError):
        replace_file(path, json.dumps([str(folder) for folder in (*others, directory)]))
    return others


@contextmanager
def _locked(path: Path, busy: str, say: Say) -> Iterator[None]:
    # Without the fallback to soft locks, the operating system releases the lock when the process is killed.
    file_lock = FileLock(path, mode=0o600, fallback_to_soft=False)
    try:
        file_lock.acquire(blocking=False)
    except Timeout:
        say(f"{busy}: waiting for it")
        try:
            file_lock.acquire(timeout=_LOCK_WAIT_S)
        except Timeout:
            raise Refusal(
                f"{busy}, still after {_LOCK_WAIT_S:.0f} s: wait for it, or stop it, then try again"
            ) from None
    try:
        yield
    finally:
        file_lock.release()
