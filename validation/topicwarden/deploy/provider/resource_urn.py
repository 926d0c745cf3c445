"""The parts of a Pulumi URN: ``urn:pulumi:<stack>::<project>::<types>::<name>``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ResourceUrn:
    """A URN. ``type`` is the resource's own type, without those of its parents."""

    text: str

    @property
    def stack(self) -> str:
        return self.text.split("::")[0].rpartition(":")[2]

    @property
    def type(self) -> str:
        return self.text.split("::")[2].rpartition("$")[2]

    @property
    def name(self) -> str:
        return self.text.rpartition("::")[2]
