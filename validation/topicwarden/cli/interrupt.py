"""Graceful shutdown of a command: the first Ctrl-C or SIGTERM asks it to stop."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event


@contextmanager
def interruptible(stop: Event) -> Iterator[None]:
    """Set ``stop`` on the first Ctrl-C or SIGTERM within the block. A second signal ends the process as usual."""
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def on_signal(number: int, _: object) -> None:
        signal.signal(number, previous[signal.Signals(number)])
        stop.set()

    for number in previous:
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
