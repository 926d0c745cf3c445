"""The spinner that a command shows while it waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def waiting(status: str) -> Iterator[None]:
    """Show a spinner with the text ``status`` on standard error during the block, if that is a terminal."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(status):
            yield
    else:
        yield
