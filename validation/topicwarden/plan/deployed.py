"""A topic in Pulumi's state: what was last deployed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Deployed:
    """The inputs of a topic as last deployed; ``protected`` where the engine refuses to delete or replace it."""

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str]
    protected: bool
