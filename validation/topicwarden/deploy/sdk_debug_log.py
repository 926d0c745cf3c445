"""Shortens what the SDK sends to the engine's debug log.

``register_resource_outputs`` of the SDK sends the outputs of each resource as text, twice. The outputs of a stack have
all topics, and the engine keeps the texts: 200 MB for 10,000 topics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pulumi

_DEBUG: Final = pulumi.log.debug
_LONGEST: Final = 10_000
"""Characters of a message."""


def shorten_debug_messages() -> None:
    """Cut the debug messages of this process to a length that a person may read."""
    pulumi.log.debug = shortened(_DEBUG)


def shortened(debug: Callable[..., None]) -> Callable[..., None]:
    """Return ``debug``, which takes a message and options, for messages of any length."""

    def short(msg: str, *arguments: Any, **options: Any) -> None:
        debug(msg if len(msg) <= _LONGEST else f"{msg[:_LONGEST]}… ({len(msg):,} characters)", *arguments, **options)

    return short
