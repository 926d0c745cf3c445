"""Client-metrics subscriptions as entries of access: by name, with Kafka's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from topicwarden.kinds.difference import AccessPart, has_values, setting_rows
from topicwarden.model.access import Part
from topicwarden.model.change_terms import AccessKind


@dataclass(frozen=True, order=True)
class Subscription:
    """A subscription, identified by its name."""

    name: str

    def __str__(self) -> str:
        return self.name


CLIENT_METRICS: Final[Part[Subscription, Mapping[str, str]]] = Part("client_metrics")
PART = AccessPart(
    AccessKind.CLIENT_METRICS,
    CLIENT_METRICS,
    "client metrics",
    lambda key: f"client metrics {key}",
    has_values,
    partial(setting_rows, kind=AccessKind.CLIENT_METRICS, part=CLIENT_METRICS, name=str),
)
