"""A state that was looked at while Pulumi wrote it.

In a backend of files, what describes a state's file (``dev.json.attrs``) is written in place (gocloud,
``blob/fileblob/attrs.go``): who reads at that moment is told ``EOF``. A program does, as the engine notes the stack's
own resource meanwhile; so does who exports a state during somebody's ``pulumi up``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from topicwarden.model.problem import Refusal

Answer = TypeVar("Answer")

_PATIENCE_S: Final = 10.0
_PAUSE_S: Final = 0.05
_UNREAD: Final = "failed to load checkpoint"


class PartialState(Refusal):
    """A state that ends too early."""


def stop_at_half_written(said: str) -> None:
    """Raises ``PartialState`` where Pulumi ``said`` that a state ends too early."""
    if _UNREAD in said and said.rstrip().endswith("EOF"):
        raise PartialState(f"Pulumi's state is half written, and stays so: {said}; look at the files of its backend")


def once_written(read: Callable[[], Answer]) -> Answer:
    """What ``read`` gives, which is asked again for ten seconds while it raises ``PartialState``."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return read()
        except PartialState:
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_S)
