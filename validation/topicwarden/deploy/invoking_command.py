"""Which topicwarden command runs the `pulumi` around a program, proven by a file that the command holds locked.

A plan and an adoption need a program that does not stop at what they report or judge themselves. An environment
variable alone could be set by accident, and would then turn a guard off: so the variable only names a file, and the
program obeys only while another process of the same user holds that file locked, for this project and stack.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.model.project import Project

VARIABLE: Final = "TOPICWARDEN_CALLER"
"""Names the file; without the lock on it, the variable means nothing."""


_END: Final = "ended"
"""The file, beside the one that is locked, that a program writes when it has come to its end."""


class CommandKind(StrEnum):
    """A command that runs `pulumi`, and what the program leaves to it."""

    PLAN = "plan"
    """The plan reports what is refused, so that the preview under it shows every step."""
    IMPORT = "import"
    """An adoption changes no topic, so that policies do not stop it."""


@dataclass(frozen=True)
class Invocation:
    """The engine whose programs know which command runs them, and whether such a program came to its end."""

    engine: PulumiEngine
    _end: Path

    def ended(self) -> bool:
        """Return whether a program reported since the last call that all its topics were registered."""
        reported = self._end.exists()
        self._end.unlink(missing_ok=True)
        return reported


@contextmanager
def calling(engine: PulumiEngine, caller: CommandKind) -> Iterator[Invocation]:
    """Give the engine whose programs know that ``caller`` runs them, until the context ends."""
    with TemporaryDirectory(prefix="topicwarden-") as folder:
        path = Path(folder, "caller")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(descriptor, _content(caller, engine.project, engine.stack))
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield Invocation(replace(engine, variables={**engine.variables, VARIABLE: str(path)}), path.with_name(_END))
        finally:
            os.close(descriptor)


def called_by(caller: CommandKind, project: Project, stack: str) -> bool:
    """Return whether ``caller`` runs this program at this moment; an empty or stale variable is ignored."""
    path = os.environ.get(VARIABLE)
    if not path:
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError):
        return False
    try:
        status = os.fstat(descriptor)
        private = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077
        return private and _locked(descriptor) and os.read(descriptor, 65_536) == _content(caller, project, stack)
    finally:
        os.close(descriptor)


def report_end(project: Project, stack: str) -> None:
    """Tell the command that runs this program, if one does, that the program has registered all its topics."""
    if any(called_by(caller, project, stack) for caller in CommandKind):
        Path(os.environ[VARIABLE]).with_name(_END).touch(mode=0o600)


def _locked(descriptor: int) -> bool:
    """Return whether another process holds the lock; this one gives it back if it gets it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _content(caller: CommandKind, project: Project, stack: str) -> bytes:
    # Pulumi accepts organization/project/stack as well as the stack's name alone.
    return json.dumps([caller.value, str(project.root.resolve()), stack.rpartition("/")[2]]).encode()
