"""Standard output as commands write it: whole, to terminals, files and pipes of any encoding."""

from __future__ import annotations

import io
import os
import sys


def write(text: str) -> None:
    """Prints ``text`` as it is; what the encoding lacks is escaped, and a reader that left early is no error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would complain at exit, when it flushes what nobody reads.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def coloured() -> bool:
    """Whether to colour standard output: terminals, but for NO_COLOR and TERM=dumb; anything with FORCE_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
