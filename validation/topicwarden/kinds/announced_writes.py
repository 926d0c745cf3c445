"""Announces each request of the provider, so that a killed deploy leaves nothing behind that nobody names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TypeAlias


class Intent(StrEnum):
    """A request that was about to be sent."""

    CREATE = "create"
    DELETE = "delete"


Announce: TypeAlias = Callable[[Intent, Iterable[str]], None]
"""A function that records what is about to be sent, by name."""


def announce_writes(announce: Announce, writes: Mapping[str, Mapping[str, object]]) -> None:
    """Announce ``writes``, the values by name; one with nothing but None is a deletion."""
    deleted = {name for name, values in writes.items() if all(value is None for value in values.values())}
    announce(Intent.DELETE, sorted(deleted))
    announce(Intent.CREATE, [name for name in writes if name not in deleted])
