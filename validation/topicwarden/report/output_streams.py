"""Standard output and standard error with any encoding, for readers that may go away, such as `head`."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


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
