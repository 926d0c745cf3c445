"""Write to standard output, for terminals, files and pipes of any encoding."""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from os.path import sameopenfile

_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#\[)", re.MULTILINE)
"""The start of a GitHub workflow command: ``::`` at the start of a line, ``##[`` anywhere."""


@dataclass
class Verbosity:
    """The output of a command besides its results: no notes if ``quiet``, the details of errors if ``verbose``."""

    quiet: bool = False
    verbose: bool = False


VERBOSITY = Verbosity()
"""The verbosity of this process, which the command line sets."""


def note(line: str) -> None:
    """Print a line for people on standard error: progress or a summary. Quiet commands omit it."""
    if not VERBOSITY.quiet:
        print(without_commands(line), file=sys.stderr, flush=True)


def keep_notes_out_of_output() -> None:
    """Omit notes from now on if they would be part of the output, which is in a format for machines.

    Under ``spark-submit``, standard error is written to standard output (Spark's ``PythonRunner``).
    """
    with suppress(OSError, ValueError):  # a stream that is not a file
        VERBOSITY.quiet |= not sys.stderr.isatty() and sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())


def write(text: str) -> None:
    """Print ``text``. Characters that the encoding does not have are escaped; a closed pipe is not an error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Otherwise Python reports an error at exit, when it flushes the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_text(text: str) -> None:
    """Print ``text`` for people. In GitHub Actions, no part of it can be interpreted as a workflow command."""
    write(without_commands(text))


def without_commands(text: str) -> str:
    """Return ``text`` with GitHub workflow commands disabled in GitHub Actions; unchanged elsewhere."""
    return _COMMAND.sub(r"\g<0> ", text) if os.environ.get("GITHUB_ACTIONS") == "true" else text


def coloured() -> bool:
    """Return whether to use colours on standard output.

    Terminals are coloured except with NO_COLOR or TERM=dumb; FORCE_COLOR also colours files and pipes.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
