"""Describes the YAML of a kind: its keys in a file below ``access/``, and the entries that a file declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from topicwarden.model.access import Part
from topicwarden.model.field_types import StrictModel
from topicwarden.model.problem import Location, Problem


class AccessFile(Protocol):
    """The validated settings of one file below ``access/`` for one stack."""

    def entries(self, key: str) -> Iterator[tuple[Mapping[str, Any], Location]]:
        """Yield the entries of the list ``key``, with their locations."""

    def items(self, key: str) -> Iterator[tuple[str, Mapping[str, Any], Callable[[str], Location]]]:
        """Yield each item of the mapping ``key``: its name, its settings, and a function that locates a setting."""


@dataclass(frozen=True)
class Entry:
    """One declared entry. ``title`` names it in the message about a second declaration.

    Without a title, an entry may be declared several times: ACLs, whose ``value`` is what declares them. An entry
    without a value is no access, and only must have a name of its own, as applications.
    """

    key: Any
    value: Any
    location: Location
    title: str = ""


@dataclass(frozen=True)
class AccessSpec:
    """The YAML of one kind.

    - ``part``: the part of the declared access that has the entries.
    - ``settings``: the pydantic model of its keys in a file.
    - ``entries``: yields what a file declares, and the problems that only show for a stack.
    """

    part: Part[Any, Any]
    settings: type[StrictModel]
    entries: Callable[[AccessFile], Iterator[Entry | Problem]]


def missing_keys(item: str, keys: Iterable[str], location: Location) -> Iterator[Problem]:
    """Yield a problem for each key that ``item``, such as ``users.billing``, lacks."""
    for key in keys:
        yield Problem(location, f"{item}.{key}: missing; write it", "missing")
