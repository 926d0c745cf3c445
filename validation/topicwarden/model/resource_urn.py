"""The URN of a resource in Pulumi."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ResourceUrn:
    """A URN, ``urn:pulumi:<stack>::<project>::<types>::<name>``; ``type`` is the last of its types.

    Only the name can contain ``::``, as the one of a subject in a context does, such as ``:.eu:orders-value``.
    """

    text: str

    @property
    def stack(self) -> str:
        return self._parts[0].rpartition(":")[2]

    @property
    def type(self) -> str:
        return self._parts[2].rpartition("$")[2]

    @property
    def name(self) -> str:
        return self._parts[3]

    @property
    def _parts(self) -> list[str]:
        return self.text.split("::", 3)
