"""Ending a command in order: the first Ctrl-C or SIGTERM asks it to come to an end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event


@contextmanager
def interruptible(stop: Event) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM sets ``stop``; a second one ends the process as usual."""
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def on_signal(number: int, _: object) -> None:
        signal.signal(number, usual[signal.Signals(number)])
        stop.set()

    for number in usual:
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
