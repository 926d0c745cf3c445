"""Standard output as commands write it: whole, to terminals, files and pipes of any encoding."""

from __future__ import annotations

import io
import os
import re
import sys

_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#\[)", re.MULTILINE)
"""What GitHub's runner takes for a workflow command: ``::`` at the start of a line, ``##[`` anywhere."""


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


def write_text(text: str) -> None:
    """``write`` for people: under GitHub Actions, nothing in it is taken for a workflow command."""
    write(inert(text))


def inert(text: str) -> str:
    """``text`` as it may be printed in a step of GitHub Actions; unchanged elsewhere."""
    return _COMMAND.sub(r"\g<0> ", text) if os.environ.get("GITHUB_ACTIONS") == "true" else text


def coloured() -> bool:
    """Whether to colour standard output: terminals, but for NO_COLOR and TERM=dumb; anything with FORCE_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
