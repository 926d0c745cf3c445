"""Describes how the entries of a kind are read from a cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeAlias

Entries: TypeAlias = tuple[Any, str | None]
"""The entries, and why some of them may be missing."""


@dataclass(frozen=True)
class LivePart:
    """One kind of access on a cluster.

    - ``name``: the part of the live access that has the entries.
    - ``request``: the request in words, for a service or brokers that do not offer it; ``permission``: what it needs.
    - ``read``: returns the entries, or raises KafkaError. Its arguments are an Admin client, and the groups whose
      settings are read in any case.
    """

    name: str
    request: str
    permission: str
    read: Callable[[Any, Collection[str]], Entries]


def complete(read: Callable[[Any], Any]) -> Callable[[Any, Collection[str]], Entries]:
    """Return ``read`` for a part that brokers always report as a whole."""
    return lambda admin, groups: (read(admin), None)
