"""Shows what ``pulumi`` prints while it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable


def engine_output() -> Callable[[str], None]:
    """Return a function that prints a line of `pulumi`, without dots that only show that it runs.

    The lines go to the standard output as it is now: a program that runs meanwhile has it redirected.
    """
    out = sys.stdout

    def show(line: str) -> None:
        if line.strip(" .\n") and not line.startswith("@ "):
            out.write(line)
            out.flush()

    return show
