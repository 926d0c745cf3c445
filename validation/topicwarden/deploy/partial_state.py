"""Retries reads of a Pulumi state that is being written at the same time.

A file backend writes the attributes of a state's file (``dev.json.attrs``) in place (gocloud,
``blob/fileblob/attrs.go``), so a concurrent read fails with ``EOF``. This happens to a program while the engine records
the stack's own resource, and to an export during another ``pulumi up``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from topicwarden.model.problem import Refusal

State = TypeVar("State")

_TIMEOUT_S: Final = 10.0
_PAUSE_S: Final = 0.05
_UNREADABLE: Final = "failed to load checkpoint"
_ENDS: Final = ("EOF", "unexpected end of JSON input")
"""The last words of Pulumi about a file that ends too early: of its attributes, and of the state itself."""


class PartialState(Refusal):
    """Raised for a state that ends too early."""


def raise_if_partial(error: str) -> None:
    """Raise ``PartialState`` if Pulumi's ``error`` means that a state ends too early."""
    if _UNREADABLE in error and error.rstrip().endswith(_ENDS):
        raise PartialState(
            f"Pulumi's state stays incomplete: {error}; restore it from an older version of the file in its backend, "
            "such as the `.bak` file beside it. A full disk can cause this"
        )


def retry_partial_state(read: Callable[[], State]) -> State:
    """Return the result of ``read``, which is called again for up to ten seconds while it raises ``PartialState``."""
    retrying = Retrying(
        retry=retry_if_exception_type(PartialState),
        stop=stop_after_delay(_TIMEOUT_S),
        wait=wait_fixed(_PAUSE_S),
        reraise=True,
    )
    return retrying(read)
