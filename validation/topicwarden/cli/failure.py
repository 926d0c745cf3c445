"""The error message of a command that could not run: one line, and the path of a log with details."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import typer

from topicwarden import __version__
from topicwarden.model.problem import InvalidDeclarations, Refusal, missing_extra
from topicwarden.model.project import CACHE, find_project
from topicwarden.report.display import printable
from topicwarden.report.terminal_output import without_commands

CODE = 2
"""The exit code of a command that could not run, for any reason. Exit code 1 means: something is not as declared."""


_OF_THE_MACHINE = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE),
    *(errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EIO),
}
"""The errors of files that are not a bug: permissions, full disks, wrong paths."""


_ADVICE: Final = re.compile(r"`pulumi (?:cancel|config|state|stack (?:change|export --file|import|init|--show))")
"""A command of `pulumi` that a user should run."""
_ON_PATH: Final = "sandbox env"


def pulumi_hint(text: str) -> str:
    """Return how to get ``pulumi`` on the PATH, if ``text`` asks to run it; empty text if it is there."""
    if not _ADVICE.search(text) or _ON_PATH in text or shutil.which("pulumi") is not None:
        return ""
    return 'pulumi is not on the PATH: `eval "$(topicwarden sandbox env)"` puts it there'


@contextmanager
def showing_problems() -> Iterator[None]:
    """If the files of the project have errors, print all of them on standard error, and exit with 1."""
    try:
        yield
    except InvalidDeclarations as invalid:
        for line in (*map(str, invalid.problems), f"topicwarden: {invalid.summary}"):
            print(without_commands(printable(line)), file=sys.stderr)
        raise typer.Exit(1) from invalid


def details_of(error: Exception) -> str:
    """Return what the log file of ``error`` contains: the details of a Refusal, or a traceback."""
    return error.details if isinstance(error, Refusal) else "".join(traceback.format_exception(error))


def line_for(error: Exception) -> str:
    """Return the message for ``error`` on one line.

    Writes the details of a Refusal, or the traceback of an unexpected error, to a log file. The message names this
    file, unless it cannot be written.
    """
    if isinstance(error, Refusal):
        log = _write_log(error.details) if error.details else None
        return "; ".join(filter(None, (str(error), pulumi_hint(str(error)), f"the log is {log}" if log else "")))
    if isinstance(error, ModuleNotFoundError) and (missing := missing_extra(error)):
        return str(missing)
    if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
        return _line_for_file(error)
    summary = " ".join(str(error).split())[:500]
    description = f"{type(error).__name__}: {summary}" if summary else type(error).__name__
    log = _write_log(details_of(error))
    suffix = f"; the traceback is in {log}" if log else ""
    return f"unexpected error, please report this bug: {description}{suffix}"


def _line_for_file(error: OSError) -> str:
    """Return the file and the reason; the remedy for a folder of data, which need not be in the project."""
    if error.filename is None:
        return f"the output cannot be written: {error.strerror}"
    path = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else str(error.filename)
    try:
        in_cache = Path(path).is_relative_to(find_project().cache)
    except Refusal:
        in_cache = False
    remedy = f"; set {CACHE} to a folder that can be written" if in_cache else ""
    return f"{path} cannot be read or written: {error.strerror}{remedy}"


def _write_log(text: str) -> Path | None:
    """Write ``text`` to a new log file that only the user can read; return its path, or None if that fails."""
    try:
        folder = find_project().cache / "logs"
    except Refusal:
        folder = Path(tempfile.gettempdir())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        log = folder / f"topicwarden-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
        log.write_text(f"topicwarden {__version__}\n{text}", encoding="utf-8")
        log.chmod(0o600)
    except OSError:
        return None
    return log
