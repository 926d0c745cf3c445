"""Write to standard output, for terminals, files and pipes, with any encoding, and for readers that may go away."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from os.path import sameopenfile
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from rich.console import Console  # a small check prints without it

    from topicwarden.report.document import Document


_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#\[)", re.MULTILINE)
"""The start of a GitHub workflow command: ``::`` at the start of a line, ``##[`` anywhere."""


@dataclass
class Verbosity:
    """The output of a command besides its results: no notes if ``quiet``, the details of errors if ``verbose``.

    ``last_output`` is the time of the last line, as of ``time.monotonic()``.
    """

    quiet: bool = False
    verbose: bool = False
    last_output: float = field(default_factory=time.monotonic)


VERBOSITY = Verbosity()
"""The verbosity of this process, which the command line sets."""


def note(line: str) -> None:
    """Print a line for people on standard error: progress or a summary. Quiet commands omit it."""
    if not VERBOSITY.quiet:
        print(without_commands(line), file=sys.stderr, flush=True)
        VERBOSITY.last_output = time.monotonic()


def keep_notes_out_of_output() -> None:
    """Omit notes from now on if they would be part of the output, which is in a format for machines.

    Under ``spark-submit``, standard error is written to standard output (Spark's ``PythonRunner``).
    """
    with suppress(OSError, ValueError):  # a stream that is not a file
        VERBOSITY.quiet |= not sys.stderr.isatty() and sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())


def write(text: str) -> None:
    """Print ``text``."""
    VERBOSITY.last_output = time.monotonic()
    sys.stdout.write(text)
    sys.stdout.flush()


def write_text(text: str) -> None:
    """Print ``text`` for people. In GitHub Actions, no part of it can be interpreted as a workflow command."""
    write(without_commands(text))


def write_line(line: str) -> None:
    """Print a line for people, as ``write_text`` does."""
    write_text(f"{line}\n")


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
    return is_capable_terminal(sys.stdout)


def is_capable_terminal(stream: TextIO) -> bool:
    """Return whether ``stream`` is a terminal that may get escape sequences: not with NO_COLOR or TERM=dumb."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in ("dumb", "unknown")


def width() -> int | None:
    """Return the columns of the terminal on standard output; None for a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def is_whole() -> bool:
    """Return whether long lists are printed whole: with --verbose, and to files and pipes, which programs read."""
    return VERBOSITY.verbose or width() is None


def console(width: int | None = None) -> Console:
    """Return rich's console for standard output; without colours, it writes no escape sequences at all."""
    from rich.console import Console  # noqa: PLC0415 -- a small check prints without it

    return Console(width=width, color_system="auto" if coloured() else None, no_color=not coloured() or None)


def document_text(document: Document, *, whole_lines: bool = False) -> str:
    """Return a document with the width, the colours and the characters of standard output.

    With ``whole_lines``, the lines of a file or a pipe have any length.
    """
    from topicwarden.report import terminal  # noqa: PLC0415 -- a small check prints without it

    out = console(terminal.ANY_WIDTH if whole_lines and width() is None else None)
    with out.capture() as captured:
        terminal.write(document, out)
    return captured.get()


class _Output(io.FileIO):
    """A file descriptor for output. A closed pipe is not an error: what is written to it from then on is dropped.

    Any other error, such as a full disk, is raised once. Otherwise Python raises it again when it flushes at exit.
    """

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            with open(os.devnull, "wb") as null:  # noqa: PTH123 -- a device
                os.dup2(null.fileno(), self.fileno())
            if isinstance(error, BrokenPipeError):
                return memoryview(data).nbytes
            raise


def open_output(descriptor: int) -> TextIO:
    """Return a stream that writes UTF-8 to ``descriptor`` and closes it."""
    return io.TextIOWrapper(io.BufferedWriter(_Output(descriptor, "w")), encoding="utf-8", errors="replace")


def open_standard_outputs() -> None:
    """Replace ``sys.stdout`` and ``sys.stderr``, so that no command ends half-way because of its output.

    Their reader may go away. Characters that their encoding does not have are escaped.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # the shell has closed it: `>&-`
            setattr(sys, name, open_output(os.open(os.devnull, os.O_WRONLY)))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
            setattr(sys, name, _tolerant(stream))


def _tolerant(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """Return a stream to the same file as ``stream``; ``stream`` itself if it is no file."""
    try:
        descriptor = stream.fileno()
    except OSError:
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(descriptor, "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or stream.write_through,  # PYTHONUNBUFFERED
    )
