"""Tells a Pulumi program which topicwarden command runs it, proven by a file that the command keeps locked.

A plan and an adoption need a program that does not stop at problems that they report themselves. An environment
variable alone could be set by accident and would turn a guard off. So the variable only names a file. The program
accepts it only while another live process of the same user holds a lock on that file, for this project and stack.

This is ``flock`` and not ``filelock``: the check must not create or take over the file, and must read owner, mode,
content and lock from one descriptor that does not follow links.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.model.project import Project
from topicwarden.scratch_folder import scratch_folder

VARIABLE: Final = "TOPICWARDEN_CALLER"
"""The variable that names the file. It is ignored unless the file is locked."""


_PATTERNS: Final = "patterns"
"""The file next to the locked file with the globs of the topics that the command is about."""
_RESULT: Final = "result"
"""The file next to the locked file with what the program hands over to the command."""
_END: Final = "ended"
"""The file next to the locked file that a program creates when it has registered all its topics."""


class CommandKind(StrEnum):
    """A command that runs `pulumi`, and the checks that the program leaves to it."""

    PLAN = "plan"
    """The plan reports refused changes itself, so its preview shows every step."""
    IMPORT = "import"
    """An adoption does not change topics, so policies do not stop it."""


@dataclass(frozen=True)
class Invocation:
    """An engine whose programs know which command runs them; also tells what such a program reported."""

    engine: PulumiEngine
    _end: Path

    def result(self) -> str | None:
        """Return what the program handed over; None if it ended before."""
        try:
            return self._end.with_name(_RESULT).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def ended(self) -> bool:
        """Return whether a program reported since the last call that all its topics were registered."""
        reported = self._end.exists()
        self._end.unlink(missing_ok=True)
        return reported


@contextmanager
def invoking(engine: PulumiEngine, command: CommandKind, patterns: Sequence[str] = ()) -> Iterator[Invocation]:
    """Yield an engine whose programs know that ``command`` runs them, until the context ends.

    With ``patterns``, the command is about the topics that match these globs; see ``selected_patterns``.
    """
    with scratch_folder() as folder:
        path = folder / "caller"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(descriptor, _content(command, engine.project, engine.stack))
            path.with_name(_PATTERNS).write_text(json.dumps(list(patterns)), encoding="utf-8")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield Invocation(replace(engine, variables={**engine.variables, VARIABLE: str(path)}), path.with_name(_END))
        finally:
            os.close(descriptor)


def invoked_by(command: CommandKind, project: Project, stack: str) -> bool:
    """Return whether ``command`` runs this program now; an empty or stale variable is ignored."""
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
        return private and _locked(descriptor) and os.read(descriptor, 65_536) == _content(command, project, stack)
    finally:
        os.close(descriptor)


def selected_patterns(project: Project, stack: str) -> tuple[str, ...]:
    """Return the globs of the topics that the plan which runs this program is about; empty for all topics."""
    if not invoked_by(CommandKind.PLAN, project, stack):
        return ()
    return tuple(json.loads(Path(os.environ[VARIABLE]).with_name(_PATTERNS).read_text(encoding="utf-8")))


def hand_over(project: Project, stack: str, result: str) -> None:
    """Give ``result`` to the plan that runs this program."""
    if invoked_by(CommandKind.PLAN, project, stack):
        Path(os.environ[VARIABLE]).with_name(_RESULT).write_text(result, encoding="utf-8")


def report_end(project: Project, stack: str) -> None:
    """Tell the topicwarden command that runs this program, if any, that the program has registered all its topics."""
    if any(invoked_by(command, project, stack) for command in CommandKind):
        Path(os.environ[VARIABLE]).with_name(_END).touch(mode=0o600)


def _locked(descriptor: int) -> bool:
    """Return whether another process holds the lock; a lock that this call gets ends with the descriptor."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _content(command: CommandKind, project: Project, stack: str) -> bytes:
    # Pulumi accepts organization/project/stack as well as the stack's name alone.
    return json.dumps([command.value, str(project.root.resolve()), stack.rpartition("/")[2]]).encode()
